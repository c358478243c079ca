"""Tickets: random words that stand for facts for a while. One-time links, sessions and logins under way are tickets.

Whoever has a ticket has what it stands for, so only its digest is kept.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mcp_core.json_types import JsonObject
from ot.store.sealing import Sealer, SealError

_MOST = 10_000  # of one kind; the oldest go first


class Kind(StrEnum):
    """What a ticket is for: one of another kind opens nothing."""

    LINK = "link"  # logs a person in, once
    LOGIN = "login"  # a login under way at the issuer
    SESSION = "session"  # a browser that is logged in


class Tickets(Protocol):
    """Keeps what tickets stand for; what has expired does not exist."""

    async def issue(self, kind: Kind, facts: JsonObject, *, seconds: float) -> str: ...
    async def find(self, kind: Kind, ticket: str) -> JsonObject | None: ...
    async def take(self, kind: Kind, ticket: str) -> JsonObject | None: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    facts: JsonObject
    expires: float


class MemoryTickets:
    """Tickets of one process, which end with it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._kept: dict[Kind, dict[str, _Kept]] = {kind: {} for kind in Kind}

    async def issue(self, kind: Kind, facts: JsonObject, *, seconds: float) -> str:
        """Return a new ticket, which stands for these facts for so many seconds."""
        ticket = new_ticket()
        kept, now = self._kept[kind], self._clock()
        for name in [name for name, each in kept.items() if each.expires <= now]:
            del kept[name]
        if len(kept) >= self._most:
            del kept[next(iter(kept))]
        kept[digest_of(ticket)] = _Kept(facts, now + seconds)
        return ticket

    async def find(self, kind: Kind, ticket: str) -> JsonObject | None:
        """Return what a ticket stands for; None where it is unknown or has expired."""
        found = self._kept[kind].get(digest_of(ticket))
        return found.facts if found is not None and found.expires > self._clock() else None

    async def take(self, kind: Kind, ticket: str) -> JsonObject | None:
        """Do the same, for the last time."""
        facts = await self.find(kind, ticket)
        self._kept[kind].pop(digest_of(ticket), None)
        return facts


class SealedTickets:
    """Tickets that hold what they stand for, sealed, so that every replica can read them.

    They are worth something until they expire: one that was taken is not remembered.
    """

    def __init__(self, sealer: Sealer, *, clock: Callable[[], float] = time.time) -> None:
        self._sealer = sealer
        self._clock = clock

    async def issue(self, kind: Kind, facts: JsonObject, *, seconds: float) -> str:
        sealed = {"id": new_ticket(), "expires": self._clock() + seconds, "facts": facts}
        return self._sealer.seal(json.dumps(sealed).encode(), place=_place(kind))

    async def find(self, kind: Kind, ticket: str) -> JsonObject | None:
        try:
            found: JsonObject = json.loads(self._sealer.open(ticket, place=_place(kind)))
        except SealError:
            return None
        facts: JsonObject = found["facts"]
        return facts if found["expires"] > self._clock() else None

    async def take(self, kind: Kind, ticket: str) -> JsonObject | None:
        return await self.find(kind, ticket)


def _place(kind: Kind) -> str:
    return f"dashboard/{kind}"


def new_ticket() -> str:
    """Return a word that nobody can guess."""
    return secrets.token_urlsafe(32)


def digest_of(ticket: str) -> str:
    """Return what is kept of a ticket."""
    return hashlib.sha256(ticket.encode(errors="surrogatepass")).hexdigest()
