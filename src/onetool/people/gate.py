"""Authentication in front of the MCP endpoint, and a limit on each person's open requests."""

from __future__ import annotations

import json
import logging
from collections import Counter

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.console.clean_text import count_of
from onetool.people.people import People
from onetool.people.person_of import SCOPE_KEY, RefusedError, UnavailableError
from ot.clients.person import Person, serving

LOGGER = logging.getLogger("onetool.http")


class PeopleGate:
    """Passes requests of authenticated people on, with the person; all others are answered 401."""

    def __init__(self, app: ASGIApp, people: People) -> None:
        self._app = app
        self._people = people

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            given = Headers(scope=scope).getlist("authorization")
            person = await self._people.recognise(given[0] if len(given) == 1 else None)
        except RefusedError as error:
            LOGGER.warning("refused a request: %s", error)
            await refuse(error, self._people)(scope, receive, send)
            return
        with serving(person):
            await self._app({**scope, SCOPE_KEY: person, "user": _user_of(person)}, receive, send)


def _user_of(person: Person) -> AuthenticatedUser:
    """The person in the SDK's form, by which it lets a session be used only by whoever opened it."""
    claims = {"iss": person.issuer}
    token = AccessToken(token="", client_id=person.principal, scopes=[], subject=person.subject, claims=claims)
    return AuthenticatedUser(token)


def refuse(error: RefusedError, people: People) -> Response:
    """Return a refusal in the form of OAuth, with the address of the metadata about the issuer."""
    challenge = [f'error="{error.error}"', f'error_description="{_quotable(str(error))}"'] if error.error else []
    if people.settings.issuer is not None:
        challenge.append(f'resource_metadata="{build_resource_metadata_url(AnyHttpUrl(people.resource))}"')
    headers = {"WWW-Authenticate": " ".join(["Bearer", ", ".join(challenge) or 'realm="onetool"'])}
    if isinstance(error, UnavailableError):
        headers = {"Retry-After": str(error.retry_after)}
    body = {"error": error.error or "unauthorized", "error_description": str(error)}
    return Response(json.dumps(body), error.status, headers, media_type="application/json")


def _quotable(text: str) -> str:
    """Remove characters that are not allowed in a quoted header value."""
    return "".join(sign for sign in text if sign.isascii() and sign.isprintable() and sign not in '"\\')


def metadata_routes(people: People) -> list[BaseRoute]:
    """Return the routes at which clients find the issuer of tokens; none if only API keys are accepted."""
    if people.settings.issuer is None:
        return []
    issuer = AnyHttpUrl(people.settings.issuer)
    return [*create_protected_resource_routes(AnyHttpUrl(people.resource), [issuer], resource_name="OneTool")]


class ShareGate:
    """Answers 503 to a person with too many open requests; it comes after authentication."""

    def __init__(self, app: ASGIApp, *, requests: int) -> None:
        self._app = app
        self._most = requests
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        person: Person = scope[SCOPE_KEY]
        who = person.principal
        if self._open[who] >= self._most:
            words = f"You have reached the limit of {count_of(self._most, 'open request')}. Close one first.\n"
            await PlainTextResponse(words, 503, {"Retry-After": "1"})(scope, receive, send)
            return
        self._open[who] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]
