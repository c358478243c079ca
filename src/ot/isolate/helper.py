"""Helper processes, seen from the server: one call at a time, killed with everything that they started.

The first helper of a module has an interpreter of its own, later ones are forked from a standby (`child.py`), which
imports what the calls of the module have imported so far. So a helper for other files, or for a call at the same time,
takes milliseconds instead of tenths of a second.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from mcp_core.quick_dataclass import dataclass
from ot.isolate.connection import ConnectionTarget, open_connection
from ot.isolate.frames import CONNECTION_VARIABLE, HEADER, MAX_FRAME, CallRequest, read_message, write_frame
from ot.processes.guarded_process import GuardedProcess, start_guarded
from ot.processes.standby import CannotForkError, Standby
from ot.registry.definitions import Libraries
from ot.tasks.large_values import aside_if_large
from ot_confinement.confine import Confine
from ot_guardian.bounds import new_folder_name
from ot_guardian.guardian import STANDBY
from ot_guardian.processes import plain_environment

_MAIN = str(Path(__file__).with_name("__main__.py"))
_PACKAGES = str(Path(__file__).parent.parent.parent)
_SLOT = 0  # of the ledger: one call at a time needs one
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_PROGRAM = "__main__"  # the last part of a module that does something when it is imported
_ROOM_OF_PACKS = "ot_packs"
_MOST_MODULES = 2000
# Threads that are started at an import would make forking impossible; this library starts some unless it is told.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
_DECODE_ON_THREAD = 256 * 1024  # bytes above which decoding would keep the event loop from others


class HelperEndedError(Exception):
    """The process ended, or sent something that is not an answer; `begun` is true if the call had begun."""

    def __init__(self, reason: str, *, begun: bool = True) -> None:
        super().__init__(reason)
        self.begun = begun


class Helper:
    def __init__(
        self, process: GuardedProcess, confine: Confine | None, folder: str, connection: ConnectionTarget | None = None
    ) -> None:
        self.confine = confine
        self.connection = connection  # that it was given
        self.folder = folder  # its own, where it makes files; only a confined one has it
        self.idle_since = 0.0
        self.explanation = ""  # of its guardian, once it has ended
        self.status: int | None = None  # of waitpid, once it has ended
        self.has_children = False  # its latest call left processes behind
        self.process = process
        self._number = 0  # of the call that it carries out
        self._answer: asyncio.Future[tuple[bool, bytes]] | None = None
        self._received = bytearray()
        process.on_output = self._on_output
        process.on_end = self._on_end

    async def call(self, request: CallRequest) -> dict[Any, object]:
        """Send one call and wait for its answer; raises HelperEndedError. Cancelled, it leaves the process unusable."""
        self._number += 1
        message = {**request, "number": self._number}
        frame = await aside_if_large(request["arguments"], write_frame, message)
        self._answer = asyncio.get_running_loop().create_future()
        self.process.forget_tail()
        self.process.write(frame)
        self.has_children, payload = await self._answer
        large = len(payload) > _DECODE_ON_THREAD
        answer = await to_thread.run_sync(read_message, payload) if large else read_message(payload)
        if not isinstance(answer, dict):
            raise HelperEndedError("its answer was not an object")
        return answer

    async def kill(self) -> None:
        """End it and all that it started; it has ended when this returns, cancelled or not."""
        await self.process.close(patience=0)

    def _on_output(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.process.kill()  # it speaks without having been asked
            return
        self._received += data
        if len(self._received) < HEADER.size:
            return
        has_children, size = HEADER.unpack_from(self._received)
        missing = HEADER.size + size - len(self._received)
        if size > MAX_FRAME:
            self._fail(f"it announced an answer of {size} bytes")
        elif missing < 0:
            self._fail("it wrote more than its answer")
        elif not missing:
            payload = bytes(memoryview(self._received)[HEADER.size :])
            self._received = bytearray()
            self._answer.set_result((has_children, payload))

    def _on_end(self) -> None:
        self.status = self.process.ledger.status()
        self.explanation = self.process.ledger.explanation()
        self._fail("it ended")

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            begun = self.process.ledger.has_begun(_SLOT, self._number)
            self._answer.set_exception(HelperEndedError(reason, begun=begun))


Start = Callable[[str, str, Sequence[int]], Awaitable[GuardedProcess]]
"""Starts the process of a helper, given the bytes that it may hold, its bounds, and descriptors to hand over."""


async def start_helper(
    memory: int, confine: Confine | None, connection: ConnectionTarget | None, start: Start
) -> Helper:
    """Start a process that lives, within its bounds, until it is killed or this one ends; raises OSError.

    With a connection, raises ServiceUnavailableError where that leads nowhere.
    """
    folder = new_folder_name() if confine is not None else ""
    bounds = confine._replace(folder=folder).to_text() if confine is not None else ""
    if connection is None:
        return Helper(await start(str(memory), bounds, ()), confine, folder)
    with await open_connection(connection) as opened:
        process = await start(str(memory), bounds, [opened.fileno()])
    return Helper(process, confine, folder, connection)


def helper_command(python: Path | None, first: str, second: str) -> list[str]:
    """The command of a helper, or of what forks helpers, on an interpreter: this one's unless another is named.

    On another interpreter, our packages and what they import come after its own.
    """
    # -P: the current folder must not decide what `import json` means in there.
    command = [str(python or sys.executable), "-P", _MAIN, first, second]
    if python is not None:
        command += dict.fromkeys((_PACKAGES, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return command


def helper_environment() -> dict[str, str]:
    """Return the environment of a helper: no keys, but the settings of Python."""
    ours = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    return plain_environment(os.environ) | ours


@dataclass(slots=True)
class _Started:
    """A module on an interpreter, of which there has been a helper."""

    standby: Standby
    modules: set[str] = field(default_factory=set)  # to be loaded before a fork
    forks: bool = True  # false once it was seen that it cannot


class HelperStarter:
    """Owns the standbys; each is started with the second helper of its module, and ends when it is not used."""

    def __init__(self, *, memory: int, idle_timeout: float) -> None:
        self._memory = memory  # bytes
        self._idle_timeout = idle_timeout  # seconds
        self._started: dict[tuple[str, Path | None], _Started] = {}

    async def start(
        self, module: str, confine: Confine | None, python: Path | None, connection: ConnectionTarget | None
    ) -> Helper:
        """Start a helper for calls of a module; raises OSError, and ServiceUnavailableError for its connection."""
        known = self._started.get((module, python))
        if known is None:
            standby = Standby(
                lambda control: helper_command(python, STANDBY, str(control)),
                environ=helper_environment() | _ONE_THREAD,
                idle_timeout=self._idle_timeout,
            )
            self._started[module, python] = _Started(standby, {module})
        elif known.forks:
            try:
                return await start_helper(self._memory, confine, connection, partial(_fork, known))
            except CannotForkError:
                known.forks = False
                await known.standby.close()
        return await start_helper(self._memory, confine, connection, partial(_start_fresh, python))

    def learn(self, module: str, python: Path | None, libraries: Libraries | None, imported: object) -> None:
        """Note what a call has imported, of our packs and the libraries of its own: a helper may say anything."""
        known = self._started.get((module, python))
        if known is not None and isinstance(imported, list) and len(known.modules) + len(imported) <= _MOST_MODULES:
            trusted = {_ROOM_OF_PACKS, *(libraries.modules if libraries is not None else ())}
            modules = (name for name in imported if isinstance(name, str) and _MODULE.fullmatch(name))
            own = (name for name in modules if name.partition(".")[0] in trusted)
            known.modules.update(name for name in own if not name.endswith(_PROGRAM))

    def forget(self, module: str) -> list[Standby]:
        """Return the standbys of a module that has changed, to be closed: nothing is forked from them any more."""
        return [self._started.pop(key).standby for key in [key for key in self._started if key[0] == module]]

    async def close(self) -> None:
        for known in self._started.values():
            await known.standby.close()

    def standby_pids(self) -> list[int]:
        return [pid for known in self._started.values() if (pid := known.standby.pid) is not None]


async def _fork(known: _Started, memory: str, bounds: str, handed: Sequence[int]) -> GuardedProcess:
    return await known.standby.start(
        [memory, bounds], environ=helper_environment(), cwd=Path.cwd(), pass_fds=handed, loaded=frozenset(known.modules)
    )


async def _start_fresh(python: Path | None, memory: str, bounds: str, handed: Sequence[int]) -> GuardedProcess:
    environ = helper_environment()
    if handed:
        environ[CONNECTION_VARIABLE] = str(handed[0])
    return start_guarded(helper_command(python, memory, bounds), environ=environ, cwd=Path.cwd(), pass_fds=handed)
