"""The plan of one attempt to connect to a server, and the logins of one of many people that it may need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.front import Claims
from ot.config.server_settings import ServerSettings
from ot.store.credentials import Credentials
from ot.store.logins import PendingLogins

CALLBACK = "/oauth/callback"
PATIENCE = 300.0  # seconds that a person has
_LONGEST = 8192  # characters of what a browser brings
Mode = Literal["auto", "legacy"]  # the way to agree on the protocol's era: by asking, or by the handshake at once
Authorise = Callable[[str], Awaitable[None]]
"""Sends a person to a web page; raises ConnectFailedError if there is nobody to send."""


@dataclass(frozen=True, slots=True)
class TeamLogins:
    """The logins of one person; `url` is the address at which people reach the server."""

    pending: PendingLogins
    principal: str
    url: str

    @property
    def callback(self) -> str:
        """The address to which browsers return, at whichever replica."""
        return f"{self.url.rstrip('/')}{CALLBACK}"

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
    claims: Callable[[], Claims]  # gives what the clients that are known can do for it
