"""The state of a server's connection: its status, its calls in flight, and the ways in which it fails.

The failures are for its parts; callers get a CallError instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import anyio

from mcp_core.facts_error import FactsError
from mcp_core.quick_dataclass import dataclass, field
from ot.clients.front import Front
from ot.context import CallContext
from ot.proxy.definitions.pins import Changes, Part

State = Literal["connected", "connecting", "disconnected", "disabled"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; `changes` is what it says of itself and nobody has accepted."""

    name: str
    pack: str
    state: State
    error: str = ""  # of the last attempt, if that failed
    tool_count: int = 0
    changes: Mapping[Part, Changes] = field(default_factory=dict)
    confined: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)  # tools that it describes against the protocol, and how
    pinned: bool = False  # nothing that is new is shown to a model or used
    changing: tuple[str, ...] = ()  # tools that may change something, where that was asked for
    left_out: Mapping[str, str] = field(default_factory=dict)  # addresses that it lists and nobody is shown, and why


class ConnectFailedError(FactsError):
    """There is no connection; `reason` completes "the server NAME ...", and `another_way` may still work."""

    reason: str
    tail: str = ""
    remedy: str = ""
    another_way: bool = False


class LostError(FactsError):
    """The connection was lost before an answer came; `begun` is false if the server certainly never saw the call."""

    reason: str
    begun: bool
    tail: str = ""


class TaskGoneError(LostError):
    """A call that had become a task can be followed no further: its server has lost it, or makes no sense of it."""


class CallsInFlight:
    """The calls that a server is working on, and through them the client that it may ask."""

    def __init__(self) -> None:
        self.begun = 0  # in all
        self._contexts: list[CallContext | None] = []
        self._none = anyio.Event()

    def __len__(self) -> int:
        return len(self._contexts)

    @contextmanager
    def add(self, context: CallContext | None) -> Iterator[None]:
        """Count a call for as long as it takes."""
        self.begun += 1
        self._contexts.append(context)
        try:
            yield
        finally:
            self._contexts.remove(context)
            if not self._contexts:
                self._none.set()

    async def wait_until_none(self) -> None:
        while self._contexts:
            self._none = anyio.Event()
            await self._none.wait()

    def fronts(self) -> list[tuple[CallContext, Front]]:
        """Return the clients behind these calls, each once, the latest call first."""
        found: dict[int, tuple[CallContext, Front]] = {}
        for context in reversed(self._contexts):
            front = front_of(context)
            if context is not None and front is not None:
                found.setdefault(id(front.session), (context, front))
        return list(found.values())


def front_of(context: CallContext | None) -> Front | None:
    return context.caller.front if context is not None else None
