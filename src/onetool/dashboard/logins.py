"""Logins: a link that works once, and what a browser that is logged in carries from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onetool.dashboard.address import Address
from onetool.dashboard.pages import HEADERS
from onetool.dashboard.tickets import Kind, Tickets
from onetool.dashboard.visitor import describe_person, read_person
from ot.clients.person import LOCAL_PERSON, Person

LINK_SECONDS = 300.0
SESSION_SECONDS = 12 * 3600.0
RENEWED_AFTER = 1800.0  # seconds, in which an issuer may have changed its mind about somebody
LOGIN_SECONDS = 600.0
_SESSION, _LOGIN = "session", "login"


async def make_link(tickets: Tickets, address: Address) -> str:
    """Return an address that logs in whoever opens it first, within minutes, as the person whose machine this is."""
    ticket = await tickets.issue(Kind.LINK, describe_person(LOCAL_PERSON), seconds=LINK_SECONDS)
    return f"{address.url}/login?ticket={ticket}"


class Session(NamedTuple):
    """A browser that is logged in."""

    name: str  # which no browser knows, and which stays when the session is renewed
    person: Person
    age: float  # seconds since the issuer last said who it is


class Logins:
    """Opens, finds and ends sessions."""

    def __init__(self, tickets: Tickets, address: Address, *, seconds: float = SESSION_SECONDS) -> None:
        """`seconds` is how long a session lives."""
        self._tickets = tickets
        self._address = address
        self._seconds = seconds

    async def redeem(self, ticket: str) -> Response | None:
        """Log in whoever brings the ticket of a link; None where it is no longer worth anything."""
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
        """Send a browser to the issuer, with what has to be known when it comes back."""
        response = RedirectResponse(to, status_code=303, headers=HEADERS)
        ticket = await self._tickets.issue(Kind.LOGIN, facts, seconds=LOGIN_SECONDS)
        self._address.set_cookie(response, _LOGIN, ticket, seconds=LOGIN_SECONDS)
        return response

    async def come_back(self, request: Request) -> dict[str, str] | None:
        """Return what was known of a login when it began; None where this browser began none."""
        ticket = self._address.read_cookie(request.headers.get("cookie", ""), _LOGIN)
        found = await self._tickets.take(Kind.LOGIN, ticket) if ticket else None
        return None if found is None else {name: str(value) for name, value in found.facts.items()}

    async def find(self, request: Request) -> Session | None:
        """Return the session of a request."""
        ticket = self._cookie(request)
        found = await self._tickets.find(Kind.SESSION, ticket) if ticket else None
        return None if found is None else Session(found.name, read_person(found.facts), found.age)

    async def close(self, request: Request, response: Response) -> None:
        """Log out: the session ends here, at every replica and in the browser."""
        await self._tickets.take(Kind.SESSION, self._cookie(request))
        self._address.drop_cookie(response, _SESSION)

    def _cookie(self, request: Request) -> str:
        return self._address.read_cookie(request.headers.get("cookie", ""), _SESSION)
