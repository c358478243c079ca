"""The person behind a request: the gate before the MCP endpoint, and who verifies credentials of which kind."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.console.clean_text import count_of
from onetool.people.person_of import SCOPE_KEY, NoCredentialsError, RefusedError, UnavailableError
from ot.clients.person import KEYS_ISSUER, Person, serving
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.team import AuthSettings
from ot.errors import MissingExtraError
from ot.store.logins import PREFIX, ApiKey, ApiKeys, split_key
from ot.store.opening import Backend
from ot.store.sealing import digest_of

_WRONG = (
    "This API key is not valid: it was revoked, has expired, or never existed. Ask the server's operator for a new one."
)
_NOBODY = ApiKey("", "", (), digest_of(""), 0.0, 0.0)  # compared with where there is no such key, which takes as long
PATH = "/mcp"
_PORTS = {"http": 80, "https": 443}


class ApiKeyVerifier:
    """Authenticates machines by their keys; each is a person of the issuer `onetool`."""

    def __init__(self, keys: ApiKeys, *, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._clock = clock

    async def verify(self, token: str) -> Person:
        """Return whose key it is; raises RefusedError."""
        key_id, secret = split_key(token)
        try:
            key = await self._keys.find(key_id) or _NOBODY
        except OSError as error:
            raise UnavailableError(f"API keys cannot be checked at present: {error.strerror}.") from error
        if not key.opens_with(secret, now=self._clock()):
            raise RefusedError(_WRONG)
        return Person(KEYS_ISSUER, key.name, key.name, frozenset(key.groups))


class Verifier(Protocol):
    """Checks one kind of credentials; raises RefusedError."""

    async def verify(self, token: str) -> Person: ...


class People:
    """Authenticates people by a token of the issuer, or an API key."""

    def __init__(self, settings: AuthSettings, *, keys: Verifier, tokens: Verifier | None) -> None:
        assert settings.public_url is not None
        self.settings = settings
        self.public_url = settings.public_url.rstrip("/")
        self.resource = resource_of(settings)  # the address of the MCP endpoint, for which tokens are made
        self._keys = keys
        self._tokens = tokens

    @property
    def authorities(self) -> set[str]:
        """The host and port of the server, in every form that clients may write."""
        split = urlsplit(self.public_url)
        usual = f"{split.hostname}:{split.port or _PORTS[split.scheme]}"
        return {split.netloc, usual, *([split.hostname or ""] if usual.endswith(f":{_PORTS[split.scheme]}") else [])}

    @property
    def origin(self) -> str:
        """The origin of pages that the server itself has served."""
        split = urlsplit(self.public_url)
        return f"{split.scheme}://{split.netloc}"

    async def recognise(self, header: str | None) -> Person:
        """Return who a request with this Authorization header comes from; raises RefusedError."""
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise NoCredentialsError(
                "Authentication required: send Authorization: Bearer with an access token or an API key."
            )
        if token.startswith(PREFIX):
            return await self._keys.verify(token)
        if self._tokens is None:
            raise RefusedError("This server accepts only API keys, and this is not one. Ask its operator for a key.")
        return await self._tokens.verify(token)


def resource_of(settings: AuthSettings) -> str:
    assert settings.public_url is not None
    return f"{settings.public_url.rstrip('/')}{PATH}"


def build_people(loaded: LoadedConfig, backend: Backend) -> People | None:
    """Return what authenticates people, by `auth`; None if nobody has to. Raises ConfigError, MissingExtraError."""
    settings = loaded.config.auth
    if not settings.in_force:
        return None
    keys = ApiKeyVerifier(backend.build_api_keys(state_folder(loaded.home)))
    if settings.issuer is None:
        return People(settings, keys=keys, tokens=None)
    try:
        import cryptography  # noqa: F401, PLC0415 - only with an issuer, and PyJWT does without it until a key comes

        from onetool.people.tokens import IssuerKeys, TokenVerifier  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise MissingExtraError("auth.issuer", "team") from error
    tokens = TokenVerifier(
        IssuerKeys(settings.issuer),
        issuer=settings.issuer,
        audience=settings.audience or resource_of(settings),
        groups_claim=settings.groups_claim,
    )
    return People(settings, keys=keys, tokens=tokens)


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
        user = _user_of(person.principal, person.subject, person.issuer)
        with serving(person):
            await self._app({**scope, SCOPE_KEY: person, "user": user}, receive, send)


@lru_cache(maxsize=1024)
def _user_of(principal: str, subject: str, issuer: str) -> AuthenticatedUser:
    """Return somebody as the SDK knows them, which lets a session be used only by whoever opened it."""
    claims = {"iss": issuer}
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=subject, claims=claims))


def refuse(error: RefusedError, people: People) -> Response:
    """Return a refusal in the form of OAuth, with the address of the metadata about the issuer."""
    # In a quoted header value not every character is allowed.
    quoted = "".join(sign for sign in str(error) if sign.isascii() and sign.isprintable() and sign not in '"\\')
    challenge = [f'error="{error.error}"', f'error_description="{quoted}"'] if error.error else []
    if people.settings.issuer is not None:
        challenge.append(f'resource_metadata="{build_resource_metadata_url(AnyHttpUrl(people.resource))}"')
    headers = {"WWW-Authenticate": " ".join(["Bearer", ", ".join(challenge) or 'realm="onetool"'])}
    if isinstance(error, UnavailableError):
        headers = {"Retry-After": str(error.retry_after)}
    body = {"error": error.error or "unauthorized", "error_description": str(error)}
    return Response(json.dumps(body), error.status, headers, media_type="application/json")


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
