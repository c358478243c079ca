"""The component's own program: `ot_kernel`, with functions of the host in the place of a socket."""

from __future__ import annotations

import gc
import io
import os
import random
import site
import sys

import wit_world

from ot_wasm.wasi import Interruption, complete_system, load_library

interruption = Interruption()
load_library()
complete_system(interruption)

from ot_confinement.probe import find_broken_promises  # noqa: E402
from ot_kernel import large_results, project_path, rows, skills  # noqa: E402, F401 - all of it, once and for all runs
from ot_kernel.program_run import ProgramRun  # noqa: E402
from ot_kernel.refusals import OwnFiles, explain_refusals  # noqa: E402
from ot_kernel.values import accept_rows  # noqa: E402
from ot_kernel.wire import Channel, Message  # noqa: E402

_REHEARSALS = 40


class HostChannel(Channel):
    """What the server says comes through the host, and the other way round."""

    def __init__(self, scratch: str) -> None:
        super().__init__(-1, scratch)

    def write(self, data: bytes) -> None:
        wit_world.tell(data[4:].decode("ascii"))

    def receive_frame(self) -> bytes:
        while not (heard := wit_world.hear()):
            interruption.check()
        return heard.encode()

    def spin(self) -> None:
        """Do nothing: the host waits."""


class _Nobody(HostChannel):
    def write(self, data: bytes) -> None: ...

    def receive(self) -> Message:
        return {"id": self._next_id, "value": "answer"}


def rehearse() -> None:
    """Let the interpreter settle its caches while the component is made."""
    before = sys.modules["__main__"], list(sys.meta_path)
    for _ in range(_REHEARSALS):
        for code in ("1", "ot.version(text='question')"):
            ProgramRun(_Nobody(""), {"code": code, "aliases": {}, "values": {}, "packs": ["ot"]}).reply()
    sys.modules["__main__"], sys.meta_path[:] = before


accept_rows()
own_files = OwnFiles()
own_files.install()
site.sethelper()
site.setquit()
for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
rehearse()
gc.collect()
gc.freeze()


class WitWorld(wit_world.WitWorld):
    """The export of the component."""

    def run(self, scratch: str, path: list[str]) -> None:
        sys.path[:] = path
        random.seed()  # the component was made with one state for all
        os.environ.update(HOME=scratch, TMPDIR=scratch, PATH="", LANG="C.UTF-8")
        os.chdir(scratch)
        channel = HostChannel(scratch)
        own_files.own(channel, scratch)
        explain_refusals()
        run = ProgramRun(channel, channel.receive())
        interruption.watch()
        reply = run.reply()
        interruption.stop()
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001 - the code may have put any object there
                pass
        channel.send(reply)

    def probe(self, outside: str) -> list[str]:
        return list(dict.fromkeys(find_broken_promises(outside or None, 1)))
