"""The clients that are being served, and what is remembered of each."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from dataclasses import field
from typing import Protocol, TypeVar

from mcp.server.mcpserver import Context

from mcp_core.quick_dataclass import dataclass
from mcp_official import is_sessionless
from onetool.people.person_of import person_of
from ot.clients.caller import IDLE, ClientMemory
from ot.store.replicas import RememberedClient

State = TypeVar("State")


@dataclass(slots=True)
class _Sessionless:
    memory: ClientMemory
    last_seen: float = 0.0
    saved: RememberedClient = field(default_factory=RememberedClient)


class RememberedClients(Protocol):
    """The common knowledge of replicas about people's clients without a session."""

    async def recall(self, principal: str) -> RememberedClient: ...
    async def remember(self, principal: str, client: RememberedClient) -> None: ...


class Clients:
    """A client is a connection; all sessionless requests of a person are one, which is forgotten after an idle hour.

    `known` is what other replicas know of the latter. `first` is the memory of the first client, if that has done
    something before this came to be.
    """

    def __init__(
        self,
        known: RememberedClients | None = None,
        *,
        first: ClientMemory | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known = known
        self._first = first
        self._clock = clock
        self._connected: dict[int, ClientMemory] = {}
        self._numbers = itertools.count(1)
        self._sessionless: dict[str, _Sessionless] = {}  # by principal

    def memory_of(self, ctx: Context[State]) -> ClientMemory:
        """Return what is remembered of the client behind a request."""
        connection = ctx.session.client_params  # made by its handshake, and gone with the connection
        if connection is None or is_sessionless(ctx):
            return self.shared(person_of(ctx).principal)
        memory = self._connected.get(id(connection))
        if memory is None:
            number = next(self._numbers)
            memory = self._connected[id(connection)] = self._take_first() or ClientMemory(number)
            weakref.finalize(connection, self._connected.pop, id(connection), None)
        return memory

    def shared(self, principal: str) -> ClientMemory:
        """Return what is remembered of a person's clients without a session."""
        now = self._clock()
        known = self._sessionless.get(principal)
        if known is None or now - known.last_seen > IDLE:
            self._forget_idle(now)
            known = self._sessionless[principal] = _Sessionless(self._take_first() or ClientMemory())
        known.last_seen = now
        return known.memory

    async def recall(self, principal: str) -> None:
        """Learn what a person's client without a session has done elsewhere; raises OSError."""
        client = self._sessionless.get(principal)
        if self._known is not None and client is not None:
            known = client.saved = await self._known.recall(principal)
            client.memory.note(known.read)
            client.memory.agreed |= known.agreed

    async def save(self, principal: str) -> None:
        """Let other replicas know what is new of a person's client, before it has the answer; raises OSError."""
        client = self._sessionless.get(principal)
        if self._known is not None and client is not None:
            now = RememberedClient(frozenset(client.memory.read), frozenset(client.memory.agreed))
            if now.read - client.saved.read or now.agreed - client.saved.agreed:
                await self._known.remember(principal, now)
                client.saved = now

    def _forget_idle(self, now: float) -> None:
        self._sessionless = {who: each for who, each in self._sessionless.items() if now - each.last_seen <= IDLE}

    def _take_first(self) -> ClientMemory | None:
        first, self._first = self._first, None
        return first
