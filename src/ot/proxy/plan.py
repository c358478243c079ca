"""The plan of one attempt to connect to a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from mcp_core.json_types import JsonObject
from ot.config.models import ServerSettings
from ot.store.credentials import Credentials

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

Mode = Literal["auto", "legacy"]
"""The way to agree on the protocol's era: by asking, or by the handshake at once."""

Authorise = Callable[[str], Awaitable[None]]
"""Sends a person to a web page; raises ConnectFailedError if there is nobody to send."""


class Landing(Protocol):
    """The page to which a person's browser returns after a login, for one visit."""

    @property
    def address(self) -> str: ...

    async def open(self, address: str) -> None:
        """Await the answer to what the browser is sent to; raises OAuthFlowError where that is not possible."""

    async def wait(self) -> AuthorizationCodeResult:
        """Return what the browser brings; raises OAuthFlowError if that is a refusal, or nothing in time."""

    def close(self) -> None:
        """Await it no longer."""


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
    landing: Landing | None  # None: a page on this machine
    authorise: Authorise
    learn: Callable[[str], None]  # is told of every secret that comes up
    claims: Callable[[], JsonObject]  # gives what the clients that are known can do for it
