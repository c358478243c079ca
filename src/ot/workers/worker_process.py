"""The process of a worker as the server sees it, on this machine or on another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class EndFacts(Protocol):
    """The facts about a process that has ended; for a process on this machine, an `ot_guardian.Ledger`."""

    def has_begun(self, slot: int, number: int) -> bool | None: ...  # None: nobody can tell
    def status(self) -> int | None: ...
    def explanation(self) -> str: ...


class WorkerProcess(Protocol):
    """The process of a worker, wherever it runs: bytes in, bytes out, its end. Handlers run on the event loop."""

    on_output: Callable[[bytes], None]
    on_end: Callable[[], None]
    ended: asyncio.Event
    exit_code: int

    @property
    def ledger(self) -> EndFacts: ...
    @property
    def tail(self) -> str: ...

    def write(self, data: bytes) -> None: ...
    def kill(self) -> None: ...
    async def close(self, *, patience: float) -> None: ...
