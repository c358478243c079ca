"""The plan of one attempt to connect to a server, and the logins of one of many people that it may need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.front import Claims
from ot.config.secrets import Deferred, whole
from ot.config.server_settings import ServerSettings
from ot.proxy.watched import Watched
from ot.store.credentials import Credentials
from ot.store.logins import PendingLogins

CALLBACK = "/oauth/callback"
CLIENT_DOCUMENT = "/oauth/client.json"
IDENTITY = "identity"  # the place at which the ID token of a person's own login is kept
PATIENCE = 300.0  # seconds that a person has
_LONGEST = 8192  # characters of what a browser brings
Mode = Literal["auto", "legacy"]  # the way to agree on the protocol's era: by asking, or by the handshake at once
Authorise = Callable[[str], Awaitable[None]]
"""Sends a person to a web page; raises ConnectFailedError if there is nobody to send."""


@dataclass(frozen=True, slots=True)
class TeamIssuer:
    """The issuer at which people of a team log in, and the client that they log in to."""

    issuer: str
    client_id: str
    client_secret: str | None


@dataclass(frozen=True, slots=True)
class TeamLogins:
    """The logins of one person; `url` is the address at which people reach the server."""

    pending: PendingLogins
    principal: str
    url: str
    issuer: TeamIssuer | None = None

    @property
    def client_document(self) -> str | None:
        """The address of the document that describes us to issuers; None where it would be no client's id."""
        return f"{self.url.rstrip('/')}{CLIENT_DOCUMENT}" if self.url.startswith("https://") else None

    @property
    def callback(self) -> str:
        """The address to which browsers return, at whichever replica."""
        return f"{self.url.rstrip('/')}{CALLBACK}"

    async def keep_identity(self, id_token: str, credentials: Credentials) -> None:
        """Keep what the team's issuer has said about this person; raises OSError."""
        await credentials.write(IDENTITY, {"id_token": id_token})

    async def begin(self, state: str, server: str) -> None:
        """Await what this person's browser brings; raises OSError."""
        await self.pending.begin(state, self.principal, server, seconds=PATIENCE)

    async def bring(self, query: Mapping[str, str]) -> str | None:
        """Take what this person's browser has brought, once, and return the server that it is for; raises OSError."""
        # None if they have begun no such login: a browser that another person has sent here brings them nothing.
        state = query.get("state", "")
        wanted = ("code", "iss", "error", "error_description")
        answer: JsonObject = {key: query[key] for key in wanted if query.get(key)}
        if not state or not answer.keys() & {"code", "error"} or sum(map(len, query.values())) > _LONGEST:
            return None
        return await self.pending.bring(state, self.principal, answer)


@dataclass(frozen=True, slots=True)
class ConnectionPlan:
    """Everything that one attempt needs."""

    server: str
    settings: ServerSettings
    mode: Mode
    older: bool  # the HTTP transport of 2024, with two endpoints
    project: Path
    environ: Mapping[str, str]
    place: str  # of the server, by which its login is kept
    credentials: Credentials
    logins: TeamLogins | None  # None: a browser returns to a page on this machine
    authorise: Authorise
    learn: Callable[[str], None]  # is told of every secret that comes up
    watched: Watched  # resources of whose updates clients want to hear
    claims: Callable[[], Claims]  # gives what the clients that are known can do for it

    @property
    def is_locked(self) -> bool:
        """True if something of it is still in the keychain."""
        return any(
            isinstance(value, Deferred) for value in (*self.settings.env.values(), *self.settings.headers.values())
        )

    def unlock(self) -> ConnectionPlan:
        """Return it with what the keychain has for it; raises KeychainError. It blocks."""
        settings, filled = self.settings, {}
        for part, texts in (("env", settings.env), ("headers", settings.headers)):
            filled[part] = {name: whole(text, self.learn) for name, text in texts.items()}
        return replace(self, settings=settings.model_copy(update=filled))
