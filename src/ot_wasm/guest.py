"""The component's own program: `ot_kernel`, with functions of the host in the place of a socket."""

from __future__ import annotations

import errno
import gc
import io
import os
import random
import site
import sys
from collections.abc import Buffer

import wit_world

from ot_wasm.library import load_library
from ot_wasm.wasi import Interruption, complete_system

interruption = Interruption()
load_library()
complete_system(interruption)

from ot_confinement.probe import find_broken_promises  # noqa: E402
from ot_kernel import (  # noqa: E402 - all of it, once and for all runs
    large_results,  # noqa: F401
    project_path,  # noqa: F401
    rows,  # noqa: F401
    skills,  # noqa: F401
    stand_in,  # noqa: F401
)
from ot_kernel.program_run import ProgramRun  # noqa: E402
from ot_kernel.refusals import OwnFiles, explain_refusals  # noqa: E402
from ot_kernel.values import accept_rows  # noqa: E402
from ot_kernel.wire import Channel, Message  # noqa: E402

_REHEARSALS = 40


class HostChannel(Channel):
    """A channel whose messages go through the functions of the host, both ways."""

    def __init__(self, scratch: str) -> None:
        super().__init__(-1, scratch)

    def write(self, data: bytes) -> None:
        wit_world.tell(data[4:].decode("ascii"))

    def receive_frame(self) -> bytes:
        return self._wait_for(self._hear())

    def ask(self, message: Message) -> Message:
        """Send a question and wait for its answer.

        The next message is another one where an earlier question was left, or this one is asked while another waits.
        """
        message["id"] = number = self._next_id = self._next_id + 1
        heard = self._exchange(self.pack(message, bounded=True).decode("ascii"))
        answer = self.unpack(self._wait_for(heard))
        while answer["id"] != number:
            self._answers[answer["id"]] = answer
            answer = self._answers.pop(number, None) or self.receive()
        return answer

    def _wait_for(self, heard: str) -> bytes:
        while not heard:
            interruption.check()
            heard = self._hear()
        return heard.encode()

    def _hear(self) -> str:
        return wit_world.hear()

    def _exchange(self, text: str) -> str:
        return wit_world.ask(text)


class _Nobody(HostChannel):
    def write(self, data: bytes) -> None: ...

    def _hear(self) -> str:
        return f'{{"id":{self._next_id},"value":"answer"}}'

    def _exchange(self, text: str) -> str:
        return self._hear()


def open_output(fd: int) -> io.TextIOWrapper:
    """Open what is printed to. A write takes only a part of what is much; a buffer writes the rest."""
    raw = _Output(fd, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)


class _Output(io.FileIO):
    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError:  # the system gives no reason, and there is only one
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG)) from None


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
sys.stdout = sys.__stdout__ = open_output(1)
sys.stderr = sys.__stderr__ = open_output(2)
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
        for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
            try:
                getattr(sys, name).flush()
            except Exception:  # noqa: BLE001 - the code may have put any object there, or none
                pass
        channel.send(reply)

    def probe(self, outside: str) -> list[str]:
        return list(dict.fromkeys(find_broken_promises(outside or None, 1)))
