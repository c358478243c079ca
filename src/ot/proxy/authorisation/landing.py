"""The pages to which a person's browser returns after a login: on this machine, or of the server that many share."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from mcp_core.json_types import Json
from ot.proxy.plan import PATIENCE, TeamLogins

_PATH = "/callback"
_MAX_LINE = 16 * 1024
_READ = 10.0  # seconds
_MOST_VISITORS = 16
_PAGE = "<!doctype html><meta charset=utf-8><title>OneTool</title><p>{}</p><p>You can close this page and go back.</p>"


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
            while True:
                with contextlib.suppress(OSError):  # the store comes back
                    if (answer := await self._logins.pending.take(self._state)) is not None:
                        return read_answer(answer, self._state)
                await anyio.sleep(0.25)  # another replica may bring it
        raise OAuthFlowError(f"nobody logged in within {PATIENCE:g} s")

    def close(self) -> None:
        """Do nothing: what nobody awaits any more is forgotten."""


def read_answer(answer: Mapping[str, Json], state: str) -> AuthorizationCodeResult:
    """Return the code that a browser has brought; raises OAuthFlowError if it is a refusal."""
    if "error" in answer:
        reason = answer.get("error_description") or answer["error"]
        raise OAuthFlowError(f"the login was refused: {reason}"[:300])
    issuer = str(answer["iss"]) if isinstance(answer.get("iss"), str) else None
    return AuthorizationCodeResult(code=str(answer["code"]), state=state, iss=issuer)


def read_query(address: str) -> dict[str, str]:
    """Return the parameters of an address; of several with one name the first."""
    return {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}


class LoginListener:
    """A listener, from `open` until `wait` has its answer."""

    def __init__(self, port: int, *, patience: float) -> None:
        self._port = port
        self._patience = patience
        self._server: asyncio.Server | None = None
        self._visitors: dict[asyncio.StreamWriter, None] = {}  # the oldest first
        self._state = ""
        self._result: AuthorizationCodeResult | None = None
        self._refusal = ""
        self._arrived = anyio.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}{_PATH}"

    async def open(self, address: str) -> None:
        """Begin to listen for the answer to what the browser is sent to; raises OAuthFlowError if the port is taken."""
        self._state = read_query(address).get("state", "")
        self._arrived, self._result, self._refusal = anyio.Event(), None, ""
        try:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self._port, limit=_MAX_LINE, backlog=_MOST_VISITORS
            )
        except OSError as error:
            raise OAuthFlowError(f"port {self._port}, which a login returns to, is in use: {error}") from error

    async def wait(self) -> AuthorizationCodeResult:
        """Return what the browser brings; raises OAuthFlowError if that is a refusal, or nothing in time."""
        try:
            with anyio.move_on_after(self._patience):
                await self._arrived.wait()
        finally:
            self.close()
        if self._result is None:
            raise OAuthFlowError(self._refusal or f"nobody logged in within {self._patience:g} s")
        return self._result

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._visitors[writer] = None
        if len(self._visitors) > _MOST_VISITORS:  # those who say nothing must not keep the browser out
            oldest = next(iter(self._visitors))
            del self._visitors[oldest]
            oldest.transport.abort()
        try:
            await self._answer(reader, writer)
        finally:
            self._visitors.pop(writer, None)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, text = "400 Bad Request", "This page only receives the result of a login."
        try:
            with anyio.move_on_after(_READ):
                line = (await reader.readline()).decode("latin-1")
                if self._take(line):
                    status, text = "200 OK", "The login was refused." if self._refusal else "OneTool is logged in."
        except (ValueError, OSError):
            pass
        body = _PAGE.format(text).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        with contextlib.suppress(OSError):
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
            writer.close()

    def _take(self, line: str) -> bool:
        """Read a request's first line; True if it answers the login, which it does once."""
        method, _, rest = line.partition(" ")
        target = rest.split(" ")[0]
        if self._arrived.is_set() or method != "GET" or urlsplit(target).path != _PATH:
            return False
        query = read_query(target)
        # Any page that the browser shows can send it here; only the login's own answer knows the state.
        if not self._state or not secrets.compare_digest(query.get("state", "").encode(), self._state.encode()):
            return False
        if not query.keys() & {"error", "code"}:
            return False
        try:
            self._result = read_answer(query, self._state)
        except OAuthFlowError as refusal:
            self._refusal = str(refusal)
        self._arrived.set()
        return True


Landing = LoginListener | TeamLanding
