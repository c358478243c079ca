"""Runs `onetool` under a profiler: `python -m bench.profiles.profiled_server FILE serve`.

SIGUSR1 begins the profile of the main thread, SIGUSR2 ends it and writes it to the file.
"""

from __future__ import annotations

import cProfile
import runpy
import signal
import sys
from pathlib import Path


def profile_on_demand(file: str) -> None:
    profiler = cProfile.Profile()

    def end(*_: object) -> None:
        profiler.disable()
        profiler.dump_stats(f"{file}.new")
        Path(f"{file}.new").rename(file)

    signal.signal(signal.SIGUSR1, lambda *_: profiler.enable())
    signal.signal(signal.SIGUSR2, end)


if __name__ == "__main__":
    profile_on_demand(sys.argv[1])
    sys.argv[:] = ["onetool", *sys.argv[2:]]
    runpy.run_module("onetool", run_name="__main__", alter_sys=True)
