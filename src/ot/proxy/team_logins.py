"""Logins of one of many people at servers: their browser returns to a page of the server that they share."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.store.logins import PendingLogins

CALLBACK = "/oauth/callback"
PATIENCE = 300.0  # seconds that a person has
_LONGEST = 8192  # characters of what a browser brings


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

    def way_of(self, server: str) -> str:
        """Say how a person logs in."""
        return f"Log in to {server} at {self.url.rstrip('/')}/servers."

    async def begin(self, state: str, server: str) -> None:
        """Await what this person's browser brings; raises OSError."""
        await self.pending.begin(state, self.principal, server, seconds=PATIENCE)

    async def bring(self, query: Mapping[str, str]) -> str | None:
        """Take what this person's browser has brought, once, and return the server that it is for; raises OSError.

        None if they have begun no such login: a browser that another person has sent here brings them nothing.
        """
        state = query.get("state", "")
        answer: JsonObject = {
            key: query[key] for key in ("code", "iss", "error", "error_description") if query.get(key)
        }
        if not state or not answer.keys() & {"code", "error"} or sum(map(len, query.values())) > _LONGEST:
            return None
        return await self.pending.bring(state, self.principal, answer)

    async def take(self, state: str) -> JsonObject | None:
        """Return what was brought, once; None as long as nothing was. Raises OSError."""
        return await self.pending.take(state)
