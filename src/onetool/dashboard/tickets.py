"""Tickets, random tokens that stand for facts for a while, and the address at which browsers keep them as cookies.

One-time links, sessions and logins in progress are tickets. Whoever has one has what it stands for, so only its digest
is kept.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple, NotRequired, Protocol, TypedDict
from urllib.parse import urlsplit

from starlette.responses import Response

from mcp_core.json_types import Json
from ot.clients.person import Person
from ot.store.logins import EndedSessions
from ot.store.sealing import Sealer, SealError, digest_of

LONGEST = 3600.0  # seconds for which a sealed ticket is worth something
_MOST = 10_000  # of one kind; the oldest go first

Facts = Mapping[str, Json]


class Kind(StrEnum):
    """The purpose of a ticket: it is not accepted for another one."""

    LINK = "link"  # logs a person in, once
    LOGIN = "login"  # a login under way at the issuer
    SESSION = "session"  # a browser that is logged in


class Ticket(NamedTuple):
    """The facts behind a ticket. Its name stays the same when a session is renewed, and never leaves the server."""

    name: str
    facts: Facts
    age: float = 0.0  # seconds


class Tickets(Protocol):
    """Keeps what tickets stand for; what has expired does not exist. Raises OSError where the store cannot be used."""

    async def issue(self, kind: Kind, facts: Facts, *, seconds: float, name: str = "") -> str: ...
    async def find(self, kind: Kind, ticket: str) -> Ticket | None: ...
    async def take(self, kind: Kind, ticket: str) -> Ticket | None: ...


class MemoryTickets:
    """Tickets of one process, which end with it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._kept: dict[Kind, dict[str, tuple[Facts, float]]] = {kind: {} for kind in Kind}  # and when each expires

    async def issue(self, kind: Kind, facts: Facts, *, seconds: float, name: str = "") -> str:
        """Return a new ticket, which stands for these facts for this many seconds."""
        ticket = name or secrets.token_urlsafe(32)
        kept, now = self._kept[kind], self._clock()
        for each in [each for each, (_, expires) in kept.items() if expires <= now]:
            del kept[each]
        if len(kept) >= self._most:
            del kept[next(iter(kept))]
        kept[digest_of(ticket)] = facts, now + seconds
        return ticket

    async def find(self, kind: Kind, ticket: str) -> Ticket | None:
        """Return what a ticket stands for; None where it is unknown or has expired."""
        facts, expires = self._kept[kind].get(digest_of(ticket), ({}, float("-inf")))
        return Ticket(ticket, facts) if expires > self._clock() else None

    async def take(self, kind: Kind, ticket: str) -> Ticket | None:
        """Do the same, for the last time."""
        found = await self.find(kind, ticket)
        self._kept[kind].pop(digest_of(ticket), None)
        return found


class _Sealed(TypedDict):
    id: str
    issued: NotRequired[float]  # tickets of early versions lack it
    expires: float
    facts: Facts


class SealedTickets:
    """Tickets that hold what they stand for, sealed, for every replica; only those taken early are remembered."""

    def __init__(
        self, sealer: Callable[[], Sealer], ended: EndedSessions, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._sealer = sealer
        self._ended = ended
        self._clock = clock

    async def issue(self, kind: Kind, facts: Facts, *, seconds: float, name: str = "") -> str:
        now = self._clock()
        ticket = name or secrets.token_urlsafe(32)
        sealed: _Sealed = {"id": ticket, "issued": now, "expires": now + seconds, "facts": facts}
        return self._sealer().seal(json.dumps(sealed).encode(), place=f"dashboard/{kind}")

    async def find(self, kind: Kind, ticket: str) -> Ticket | None:
        try:
            found: _Sealed = json.loads(self._sealer().open(ticket, place=f"dashboard/{kind}"))
        except SealError:
            return None
        now = self._clock()
        if "issued" not in found or found["expires"] <= now or await self._ended.has_ended(found["id"]):
            return None
        return Ticket(found["id"], found["facts"], now - found["issued"])

    async def take(self, kind: Kind, ticket: str) -> Ticket | None:
        found = await self.find(kind, ticket)
        if found is not None:
            await self._ended.end(found.name, seconds=LONGEST)
        return found


def describe_person(person: Person) -> Facts:
    return {"issuer": person.issuer, "subject": person.subject, "name": person.name, "groups": [*sorted(person.groups)]}


def read_person(facts: Facts) -> Person:
    issuer, subject, name = (str(facts[key]) for key in ("issuer", "subject", "name"))
    groups = facts["groups"]
    return Person(issuer, subject, name, frozenset(map(str, groups if isinstance(groups, list) else ())))


class Address(NamedTuple):
    """`url` is where people reach it, without a slash at the end; `hosts` are all that a request may name."""

    url: str
    hosts: frozenset[str]

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({self.url, *(f"{urlsplit(self.url).scheme}://{host}" for host in self.hosts)})

    def cookie_name(self, use: str) -> str:
        """Return the name of a cookie; browsers share cookies between the ports of a host, so the name has the port."""
        if self.secure:
            return f"__Host-onetool-{use}"
        return f"onetool-{urlsplit(self.url).port or 80}-{use}"

    def set_cookie(self, response: Response, use: str, value: str, *, seconds: float) -> None:
        """Give the browser a cookie that scripts cannot read and that other sites' forms do not carry."""
        response.set_cookie(
            self.cookie_name(use), value, max_age=int(seconds), secure=self.secure, httponly=True, samesite="lax"
        )

    def drop_cookie(self, response: Response, use: str) -> None:
        response.delete_cookie(self.cookie_name(use), secure=self.secure, httponly=True, samesite="lax")

    def read_cookie(self, header: str, use: str) -> str:
        """Return the value of a cookie; empty if there is none."""
        try:
            found = SimpleCookie(header).get(self.cookie_name(use))
        except CookieError:
            return ""
        return found.value if found is not None else ""


def address_of(url: str, hosts: Iterable[str]) -> Address:
    """Return the address of a url, of which only scheme, host and port count."""
    parts = urlsplit(url)
    return Address(f"{parts.scheme}://{parts.netloc}", frozenset({parts.netloc, *hosts}))
