"""The clients that are being served, and what is remembered of each."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from typing import TypeVar

from mcp.server.mcpserver import Context

from mcp_official import is_sessionless
from ot.client_memory import IDLE, ClientMemory

State = TypeVar("State")


class Clients:
    """A client is a connection; all sessionless requests are one, which is forgotten after an idle hour."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._connected: dict[int, ClientMemory] = {}
        self._numbers = itertools.count(1)
        self._sessionless = ClientMemory()
        self._last_seen = clock()

    def memory_of(self, ctx: Context[State]) -> ClientMemory:
        """Return what is remembered of the client behind a request."""
        connection = ctx.session.client_params  # made by its handshake, and gone with the connection
        if connection is None or is_sessionless(ctx):
            return self._shared()
        memory = self._connected.get(id(connection))
        if memory is None:
            memory = self._connected[id(connection)] = ClientMemory(next(self._numbers))
            weakref.finalize(connection, self._connected.pop, id(connection), None)
        return memory

    def _shared(self) -> ClientMemory:
        now = self._clock()
        if now - self._last_seen > IDLE:
            self._sessionless = ClientMemory()
        self._last_seen = now
        return self._sessionless
