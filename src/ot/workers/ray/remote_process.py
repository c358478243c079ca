"""The process of a worker on a node, as the server sees it: a `WorkerProcess` behind the driver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Protocol

import anyio

from mcp_core.json_types import Json
from ot.processes.guarded_process import ignore
from ot_ray.frames import Kind

_PATIENCE = 10.0  # seconds in which the driver must report the end of what was killed


class Driver(Protocol):
    """Takes the frames that are meant for a node."""

    def send(self, kind: Kind, worker: int, payload: bytes = b"") -> None: ...
    def forget(self, worker: int) -> None: ...


class RemoteEndFacts:
    """The report of a node on a process that has ended; empty if the process is lost."""

    def __init__(self) -> None:
        self._facts: Mapping[str, Json] | None = None
        self._loss = ""

    def take(self, facts: Mapping[str, Json]) -> None:
        self._facts = facts

    def lose(self, reason: str) -> None:
        self._loss = reason

    def has_begun(self, slot: int, number: int) -> bool | None:
        """None as long as nobody can tell."""
        begun = self._facts.get("begun") if self._facts is not None else None
        if not isinstance(begun, list):
            return None
        return slot < len(begun) and begun[slot] == number

    def status(self) -> int | None:
        status = self._facts.get("status") if self._facts is not None else None
        return status if isinstance(status, int) else None

    def explanation(self) -> str:
        return str(self._facts.get("explanation", "")) if self._facts is not None else self._loss


class RemoteProcess:
    """Made by the driver's owner, which hands over its frames. `on_end` comes last, after all output."""

    def __init__(self, number: int, driver: Driver, tell: Callable[[str], None]) -> None:
        self.ledger = RemoteEndFacts()
        self.on_output: Callable[[bytes], None] = ignore
        self.on_end: Callable[[], None] = lambda: None
        self.ended = asyncio.Event()
        self.exit_code = 0
        self.tail = ""
        self.node: str | None = None
        self.failure = ""  # why it was never started
        self.placed = asyncio.Event()  # or has ended
        self._number = number
        self._driver = driver
        self._tell = tell
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Pass bytes to its stdin."""
        self._driver.send(Kind.WRITE, self._number, data)

    def kill(self) -> None:
        """End it and all that it started; where nobody reports that, it counts as lost."""
        if not self.ended.is_set():
            self._driver.send(Kind.KILL, self._number)
            self._loop.call_later(_PATIENCE, self.lose, "nobody reports its end")

    async def close(self, *, patience: float) -> None:
        """Let it end by itself, kill it after that many seconds; it has ended when this returns, cancelled or not."""
        with anyio.CancelScope(shield=True):
            if not self.ended.is_set():
                self._driver.send(Kind.CLOSE, self._number)
            with anyio.move_on_after(patience):
                await self.ended.wait()
            self.kill()
            await self.ended.wait()

    def on_frame(self, kind: Kind, payload: bytes) -> None:
        """Handle a frame from its node; raises ValueError for an invalid one."""
        match kind:
            case Kind.OUTPUT:
                self.on_output(payload)
            case Kind.TOLD:
                self._tell(payload.decode(errors="replace"))
            case Kind.PLACED:
                self.node = payload.decode(errors="replace")
                self.placed.set()
            case Kind.ENDED:
                self._on_end(json.loads(payload))
            case _:
                raise ValueError(f"a frame of the kind {kind.name} about a worker")

    def lose(self, reason: str) -> None:
        """Note that it is out of reach; ignored once it has ended."""
        if not self.ended.is_set():
            place = f"on node {self.node} " if self.node else ""
            self.ledger.lose(f"{place}cannot be reached: {reason}")
            self._end()

    def _on_end(self, facts: Mapping[str, Json]) -> None:
        if "lost" in facts:
            self.lose(str(facts["lost"]))
            return
        if "failure" in facts:
            self.failure = str(facts["failure"])
        code = facts.get("exit_code")
        self.exit_code = code if isinstance(code, int) else 0
        self.tail = str(facts.get("tail", ""))
        self.ledger.take(facts)
        self._end()

    def _end(self) -> None:
        self._driver.forget(self._number)
        self.ended.set()
        self.placed.set()
        self.on_end()
