"""The page to which a person's browser returns after a login, for one visit: of the server that many share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from mcp_core.json_types import Json, JsonObject
from ot.proxy.team_logins import PATIENCE, TeamLogins

_TURN = 0.25  # seconds between two looks at the store
_LONGEST_REFUSAL = 300  # characters


class Landing(Protocol):
    """A page for a browser that returns from a login."""

    @property
    def address(self) -> str: ...

    async def open(self, address: str) -> None:
        """Await the answer to what the browser is sent to; raises OAuthFlowError where that is not possible."""

    async def wait(self) -> AuthorizationCodeResult:
        """Return what the browser brings; raises OAuthFlowError if that is a refusal, or nothing in time."""

    def close(self) -> None:
        """Await it no longer."""


class TeamLanding:
    """The page of all replicas, to which the browser of one person returns."""

    def __init__(self, logins: TeamLogins, server: str) -> None:
        self._logins = logins
        self._server = server
        self._state = ""

    @property
    def address(self) -> str:
        return self._logins.callback

    async def open(self, address: str) -> None:
        self._state = read_query(address).get("state", "")
        try:
            await self._logins.begin(self._state, self._server)
        except OSError as error:
            raise OAuthFlowError(f"login is not possible now: {error.strerror or error}") from error

    async def wait(self) -> AuthorizationCodeResult:
        with anyio.move_on_after(PATIENCE):
            while (answer := await self._look()) is None:  # noqa: ASYNC110 - another replica may bring it
                await anyio.sleep(_TURN)
            return read_answer(answer, self._state)
        raise OAuthFlowError(f"nobody logged in within {PATIENCE:g} s")

    def close(self) -> None:
        """Do nothing: what nobody awaits any more is forgotten."""

    async def _look(self) -> JsonObject | None:
        try:
            return await self._logins.take(self._state)
        except OSError:  # it comes back
            return None


def read_answer(answer: Mapping[str, Json], state: str) -> AuthorizationCodeResult:
    """Return the code that a browser has brought; raises OAuthFlowError if it is a refusal."""
    if "error" in answer:
        reason = answer.get("error_description") or answer["error"]
        raise OAuthFlowError(f"the login was refused: {reason}"[:_LONGEST_REFUSAL])
    issuer = answer.get("iss")
    return AuthorizationCodeResult(
        code=str(answer["code"]), state=state, iss=issuer if isinstance(issuer, str) else None
    )


def read_query(address: str) -> dict[str, str]:
    """Return the parameters of an address; of several with one name the first."""
    return {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}
