"""Logins: a link that works once, and what a browser that is logged in carries from then on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcp_core.json_types import JsonObject
from onetool.dashboard.address import Address
from onetool.dashboard.pages import HEADERS
from onetool.dashboard.tickets import Kind, Tickets
from onetool.dashboard.visitor import describe_person, read_person
from ot.person import LOCAL_PERSON, Person

LINK_SECONDS = 300.0
SESSION_SECONDS = 12 * 3600.0
LOGIN_SECONDS = 600.0
_SESSION, _LOGIN = "session", "login"


async def make_link(tickets: Tickets, address: Address) -> str:
    """Return an address that logs in whoever opens it first, within minutes, as the person whose machine this is."""
    ticket = await tickets.issue(Kind.LINK, describe_person(LOCAL_PERSON), seconds=LINK_SECONDS)
    return f"{address.url}/login?ticket={ticket}"


class Logins:
    """Opens, finds and ends sessions."""

    def __init__(self, tickets: Tickets, address: Address) -> None:
        self._tickets = tickets
        self._address = address

    async def redeem(self, ticket: str) -> Response | None:
        """Log in whoever brings the ticket of a link; None where it is no longer worth anything."""
        facts = await self._tickets.take(Kind.LINK, ticket)
        return None if facts is None else await self.open(read_person(facts), "/")

    async def open(self, person: Person, path: str) -> Response:
        """Log a person in, and send them to a page."""
        session = await self._tickets.issue(Kind.SESSION, describe_person(person), seconds=SESSION_SECONDS)
        response = RedirectResponse(path, status_code=303, headers=HEADERS)
        self._address.set_cookie(response, _SESSION, session, seconds=SESSION_SECONDS)
        self._address.drop_cookie(response, _LOGIN)
        return response

    async def send_away(self, to: str, facts: JsonObject) -> Response:
        """Send a browser to the issuer, with what has to be known when it comes back."""
        response = RedirectResponse(to, status_code=303, headers=HEADERS)
        ticket = await self._tickets.issue(Kind.LOGIN, facts, seconds=LOGIN_SECONDS)
        self._address.set_cookie(response, _LOGIN, ticket, seconds=LOGIN_SECONDS)
        return response

    async def come_back(self, request: Request) -> JsonObject | None:
        """Return what was known of a login when it began; None where this browser began none."""
        ticket = self._address.read_cookie(request.headers.get("cookie", ""), _LOGIN)
        return await self._tickets.take(Kind.LOGIN, ticket) if ticket else None

    async def find(self, request: Request) -> tuple[str, Person] | None:
        """Return the session of a request, and whose it is."""
        session = self._address.read_cookie(request.headers.get("cookie", ""), _SESSION)
        facts = await self._tickets.find(Kind.SESSION, session) if session else None
        return None if facts is None else (session, read_person(facts))

    async def close(self, session: str, response: Response) -> None:
        """Log out: the session ends here and in the browser."""
        await self._tickets.take(Kind.SESSION, session)
        self._address.drop_cookie(response, _SESSION)
