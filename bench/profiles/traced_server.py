"""Runs `onetool` and lists the functions of ours that it calls: `python -m bench.profiles.traced_server FILE serve`.

SIGUSR1 begins to list what the next run calls, on the main thread, from the moment it reaches `Runs`. SIGUSR2 ends that
and writes the list to the file, one call in a line: the file, a tab, and the function.
"""

from __future__ import annotations

import runpy
import signal
import sys
from pathlib import Path
from types import CodeType, FrameType

from bench.profiles.imports import ROOT

_SOURCE = f"{ROOT}/src/"
_BEGINNINGS = frozenset({"Runs.begin", "Runs.run"})


def list_calls_on_demand(file: str) -> None:
    calls: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            if not code.co_filename.startswith(_SOURCE) or code.co_code[frame.f_lasti + 1]:  # the argument of RESUME
                return
            if calls or code.co_qualname in _BEGINNINGS:
                calls.append(code)

    def end(*_: object) -> None:
        sys.setprofile(None)
        lines = (f"{code.co_filename.removeprefix(_SOURCE)}\t{code.co_qualname}\n" for code in calls)
        Path(f"{file}.new").write_text("".join(lines), encoding="utf-8")
        Path(f"{file}.new").rename(file)
        calls.clear()

    signal.signal(signal.SIGUSR1, lambda *_: sys.setprofile(note))
    signal.signal(signal.SIGUSR2, end)


if __name__ == "__main__":
    list_calls_on_demand(sys.argv[1])
    sys.argv[:] = ["onetool", *sys.argv[2:]]
    runpy.run_module("onetool", run_name="__main__", alter_sys=True)
