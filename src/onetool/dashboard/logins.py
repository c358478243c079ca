"""Logins: links that work once, and the session cookies of browsers that are logged in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onetool.dashboard.pages import HEADERS
from onetool.dashboard.tickets import Address, Kind, Tickets, describe_person, read_person
from ot.clients.person import Person

SESSION_SECONDS = 12 * 3600.0
RENEWED_AFTER = 1800.0  # seconds until the issuer has to confirm a person again
LOGIN_SECONDS = 600.0
_SESSION, _LOGIN = "session", "login"

CALLBACK = "/login/callback"  # the path to which the issuer sends a browser back


class LoginError(Exception):
    """A login failed; the text is for the person."""


class Session(NamedTuple):
    name: str  # unknown to the browser, and the same when the session is renewed
    person: Person
    age: float  # seconds since the issuer last confirmed the person


class Logins:
    def __init__(self, tickets: Tickets, address: Address, *, seconds: float) -> None:
        """`seconds` is how long a session lives."""
        self._tickets = tickets
        self._address = address
        self._seconds = seconds

    async def redeem(self, ticket: str) -> Response | None:
        """Log in a browser with the ticket of a link; None if the ticket is no longer valid."""
        found = await self._tickets.take(Kind.LINK, ticket)
        return None if found is None else await self.open(read_person(found.facts), "/")

    async def open(self, person: Person, path: str, *, before: Session | None = None) -> Response:
        """Log a person in, and send them to a page; the session that they had before goes on."""
        name = before.name if before is not None and before.person.principal == person.principal else ""
        session = await self._tickets.issue(Kind.SESSION, describe_person(person), seconds=self._seconds, name=name)
        response = RedirectResponse(path, status_code=303, headers=HEADERS)
        self._address.set_cookie(response, _SESSION, session, seconds=self._seconds)
        self._address.drop_cookie(response, _LOGIN)
        return response

    async def send_away(self, to: str, facts: Mapping[str, str]) -> Response:
        """Send a browser to the issuer, with a cookie for the facts needed when it comes back."""
        response = RedirectResponse(to, status_code=303, headers=HEADERS)
        ticket = await self._tickets.issue(Kind.LOGIN, facts, seconds=LOGIN_SECONDS)
        self._address.set_cookie(response, _LOGIN, ticket, seconds=LOGIN_SECONDS)
        return response

    async def come_back(self, request: Request) -> dict[str, str] | None:
        """Return the facts of a login in progress; None if this browser has not started one."""
        ticket = self._address.read_cookie(request.headers.get("cookie", ""), _LOGIN)
        found = await self._tickets.take(Kind.LOGIN, ticket) if ticket else None
        return None if found is None else {name: str(value) for name, value in found.facts.items()}

    async def find(self, request: Request) -> Session | None:
        ticket = self._cookie(request)
        found = await self._tickets.find(Kind.SESSION, ticket) if ticket else None
        return None if found is None else Session(found.name, read_person(found.facts), found.age)

    async def close(self, request: Request, response: Response) -> None:
        """Log out: the session ends here, at every replica and in the browser."""
        await self._tickets.take(Kind.SESSION, self._cookie(request))
        self._address.drop_cookie(response, _SESSION)

    def _cookie(self, request: Request) -> str:
        return self._address.read_cookie(request.headers.get("cookie", ""), _SESSION)
