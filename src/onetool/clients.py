"""The clients that are being served, and what is remembered of each."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mcp.server.mcpserver import Context

from mcp_official import is_sessionless
from onetool.person_of import person_of
from ot.client_memory import IDLE, ClientMemory

State = TypeVar("State")


@dataclass(slots=True)
class _Sessionless:
    memory: ClientMemory = field(default_factory=ClientMemory)
    last_seen: float = 0.0


class Clients:
    """A client is a connection; all sessionless requests of a person are one, which is forgotten after an idle hour."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._connected: dict[int, ClientMemory] = {}
        self._numbers = itertools.count(1)
        self._sessionless: dict[str, _Sessionless] = {}  # by principal

    def memory_of(self, ctx: Context[State]) -> ClientMemory:
        """Return what is remembered of the client behind a request."""
        connection = ctx.session.client_params  # made by its handshake, and gone with the connection
        if connection is None or is_sessionless(ctx):
            return self._shared(person_of(ctx).principal)
        memory = self._connected.get(id(connection))
        if memory is None:
            memory = self._connected[id(connection)] = ClientMemory(next(self._numbers))
            weakref.finalize(connection, self._connected.pop, id(connection), None)
        return memory

    def _shared(self, principal: str) -> ClientMemory:
        now = self._clock()
        known = self._sessionless.get(principal)
        if known is None or now - known.last_seen > IDLE:
            self._forget_idle(now)
            known = self._sessionless[principal] = _Sessionless()
        known.last_seen = now
        return known.memory

    def _forget_idle(self, now: float) -> None:
        self._sessionless = {who: each for who, each in self._sessionless.items() if now - each.last_seen <= IDLE}
