"""A standby, seen from the server: a process that forks guardians in milliseconds (`ot_guardian.standby`).

It is started when the first one is wanted, and ends when nobody has wanted one for a while.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import anyio

from mcp_core.quick_dataclass import dataclass, field
from ot.processes.fork_server import launch_fork_server
from ot_guardian import Ledger
from ot_guardian.guardian import exit_code, standby_words
from ot_guardian.standby import ANSWER, BEGIN, LOAD, write_order
from ot_system import CAN_FORK_LOADED, PLACE, memory_file, watch_process

if TYPE_CHECKING:
    from ot.processes.guarded_process import GuardedProcess

IDLE_TIMEOUT = 60.0  # seconds
_FORK_LIMIT = 5.0  # seconds that a fork may take; it takes two milliseconds
_END_LIMIT = 5.0  # seconds that it may take to end, when all guardians have
_UNTOLD = 137  # the exit code of a program whose guardian was killed

Words = Callable[[int], Sequence[str]]  # the command of a standby, given the descriptor of its control socket


class CannotForkError(OSError):
    """The standby has ended, or has more than one thread: what is to be started needs a guardian of its own."""


class _Process:
    """One process; the event loop hears of its end."""

    def __init__(self, words: Words, environ: Mapping[str, str]) -> None:
        self._process, self._control = launch_fork_server(words, environ=environ)
        self.ended = anyio.Event()
        self.loaded: frozenset[str] | None = None  # modules; None while it starts
        self._asked = False
        self._given_up = False
        self._handle = watch_process(self._process)
        asyncio.get_running_loop().add_reader(self._handle, self._on_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def usable(self) -> bool:
        return not self.ended.is_set() and not self._given_up

    async def ask(self, kind: bytes, order: bytes, descriptors: Iterable[int] = ()) -> tuple[int, list[int]]:
        """Give an order and return the answer, a number and descriptors; raises OSError. One at a time."""
        self._asked = True
        try:
            with os.fdopen(memory_file("onetool-order"), "wb") as file:
                file.write(order)
                file.flush()
                self._control.send_message(kind, [file.fileno(), *descriptors])
            await anyio.wait_readable(self._control)
            answer, handed = self._control.receive_message(ANSWER.size, most=1)
            if len(answer) != ANSWER.size:
                raise ConnectionError("the standby has ended")
            return ANSWER.unpack(answer)[0], handed
        finally:
            self._asked = False
            if self._given_up:
                self._control.close()

    def close(self) -> None:
        """Give it no more orders: it ends with its last guardian, or at once if it does not answer one."""
        self._given_up = True
        if self._asked:
            self.kill()  # whoever waits for the answer hears of that
        else:
            self._control.close()

    def kill(self) -> None:
        """End it now; guardians that it has forked live on, as long as they have something to guard."""
        if not self.ended.is_set():
            self._process.kill()

    def _on_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        self._process.wait()
        os.close(self._handle)
        self.ended.set()


@dataclass(eq=False)
class Standby:
    """`async with Standby() as standby: process = await standby.start(...)`; by default one for programs."""

    words: Words = standby_words
    environ: Mapping[str, str] = field(default_factory=dict)
    idle_timeout: float = IDLE_TIMEOUT  # seconds
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _process: _Process | None = None
    _left: set[_Process] = field(default_factory=set)  # closed, or killed, and perhaps not gone yet
    _timer: asyncio.TimerHandle | None = None
    _closed: bool = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def pid(self) -> int | None:
        """Its process id; None while it has none."""
        return self._process.pid if self._process is not None and self._process.usable else None

    async def start(
        self,
        words: Iterable[str],
        *,
        environ: Mapping[str, str],
        cwd: Path,
        pass_fds: Sequence[int] = (),
        loaded: AbstractSet[str] = frozenset(),
    ) -> GuardedProcess:
        """Start a process below a guardian, with these modules loaded. Raises OSError, CannotForkError among them."""
        from ot.processes.guarded_process import GuardedProcess, Guardian, Pipes  # noqa: PLC0415 - most start nothing

        if not CAN_FORK_LOADED:
            raise CannotForkError("a process on this system that has loaded libraries cannot fork")
        folder = os.open(cwd, PLACE | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with Pipes() as pipes:
                given = (*pipes.theirs, pipes.ledger.descriptor, folder, *pass_fds)
                async with self._turn:
                    pid, handle = await self._fork(write_order(environ, words), given, loaded)
                return GuardedProcess(Guardian(pid, handle, partial(_exit_code, pipes.ledger)), pipes)
        finally:
            os.close(folder)

    async def close(self) -> None:
        """End it for good; it has ended when this returns, cancelled or not."""
        self._closed = True
        self._leave()
        with anyio.CancelScope(shield=True):
            for process in self._left:
                with anyio.move_on_after(_END_LIMIT):
                    await process.ended.wait()
                process.kill()
                await process.ended.wait()

    async def _fork(self, order: bytes, given: Sequence[int], wanted: AbstractSet[str]) -> tuple[int, int]:
        """Return the guardian, with a handle on it. Once begun, a fork is waited for: it must not be lost."""
        self._stop_timer()
        process = await self._prepare(wanted)
        pid = 0
        handed: list[int] = []
        with anyio.CancelScope(shield=True), anyio.move_on_after(_FORK_LIMIT), suppress(OSError):
            pid, handed = await process.ask(BEGIN, order, given)
        if len(handed) != 1:
            self._leave(kill=True)
            raise CannotForkError(f"the standby {process.pid} did not fork")
        self._timer = asyncio.get_running_loop().call_later(self.idle_timeout, self._leave)
        return pid, handed[0]

    async def _prepare(self, wanted: AbstractSet[str]) -> _Process:
        """Return the process, once it waits for orders and has loaded these modules."""
        if self._closed:
            raise CannotForkError("the standby was closed")
        if self._process is not None and self._process.loaded is not None and self._process.usable:
            process, missing = self._process, wanted - self._process.loaded
            if not missing:
                return process
        else:
            self._leave()
            process, missing = _Process(self.words, self.environ), wanted
            self._process = process
        try:
            await process.ask(LOAD, write_order({}, sorted(missing)))
        except BaseException as error:
            self._leave(kill=True)  # it may hang in one of them
            if isinstance(error, OSError):
                raise CannotForkError(f"the standby {process.pid} has ended") from error
            raise
        process.loaded = (process.loaded or frozenset()) | missing
        return process

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _leave(self, *, kill: bool = False) -> None:
        self._stop_timer()
        if self._process is not None:
            self._left = {each for each in (*self._left, self._process) if not each.ended.is_set()}
            self._process.close()
            if kill:
                self._process.kill()
            self._process = None


def _exit_code(ledger: Ledger) -> int:
    status = ledger.status()
    return _UNTOLD if status is None else exit_code(status)
