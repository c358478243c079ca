"""Who somebody is: the credentials of a request, checked in whichever way they can be."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from onetool.people.refusal import NoCredentialsError, RefusedError
from ot.clients.person import Person
from ot.config.team import AuthSettings
from ot.errors import MissingExtraError
from ot.store.api_keys import PREFIX

PATH = "/mcp"
_PORTS = {"http": 80, "https": 443}


class Verifier(Protocol):
    """Checks one kind of credentials; raises RefusedError."""

    async def verify(self, token: str) -> Person: ...


class People:
    """Recognises people by what their requests carry: a token of the issuer, or an API key."""

    def __init__(self, settings: AuthSettings, *, keys: Verifier, tokens: Verifier | None) -> None:
        assert settings.public_url is not None
        self.settings = settings
        self.public_url = settings.public_url.rstrip("/")
        self._keys = keys
        self._tokens = tokens

    @property
    def resource(self) -> str:
        """The address of the MCP endpoint, for which tokens are made."""
        return resource_of(self.settings)

    @property
    def authorities(self) -> set[str]:
        """The host and port at which people reach the server, as clients may write them."""
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
            raise NoCredentialsError("Say who you are: Authorization: Bearer with an access token or an API key.")
        if token.startswith(PREFIX):
            return await self._keys.verify(token)
        if self._tokens is None:
            raise RefusedError("This server takes API keys only, and this is none. Its operator makes them.")
        return await self._tokens.verify(token)

    def is_admin(self, person: Person) -> bool:
        """True for people who look after the server."""
        return not person.groups.isdisjoint(self.settings.admins)


def resource_of(settings: AuthSettings) -> str:
    """Return the address of the MCP endpoint as people know it."""
    assert settings.public_url is not None
    return f"{settings.public_url.rstrip('/')}{PATH}"


def build_people(settings: AuthSettings, keys: Verifier) -> People:
    """Build what `auth` asks for; tokens need the extra `team`, whose absence is raised as MissingExtraError."""
    if settings.issuer is None:
        return People(settings, keys=keys, tokens=None)
    try:
        import cryptography  # noqa: F401, PLC0415 - only with an issuer, and PyJWT does without it until a key comes

        from onetool.people.issuer_keys import IssuerKeys  # noqa: PLC0415 - likewise
        from onetool.people.tokens import TokenVerifier  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise MissingExtraError("auth.issuer", "team") from error
    tokens = TokenVerifier(
        IssuerKeys(settings.issuer),
        issuer=settings.issuer,
        audience=settings.audience or resource_of(settings),
        groups_claim=settings.groups_claim,
    )
    return People(settings, keys=keys, tokens=tokens)
