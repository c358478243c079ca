"""The plan of one attempt to connect to a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from mcp_core.quick_dataclass import dataclass
from ot.clients.claims import Claims
from ot.config.models import ServerSettings
from ot.proxy.team_logins import TeamLogins
from ot.store.credentials import Credentials

Mode = Literal["auto", "legacy"]
"""The way to agree on the protocol's era: by asking, or by the handshake at once."""

Authorise = Callable[[str], Awaitable[None]]
"""Sends a person to a web page; raises ConnectFailedError if there is nobody to send."""


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
