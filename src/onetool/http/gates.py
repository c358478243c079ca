"""Around MCP over HTTP: bodies and sessions, the gate of a server that drains, and the routes that machines ask."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_core.distribution import VERSION
from mcp_core.line_pipes import MAX_LINE
from mcp_core.private_files import make_private
from onetool.http.listening import is_loopback
from onetool.people.person_of import SCOPE_KEY
from onetool.replicas.draining import NO_NEW_RUNS, Draining
from ot.clients.person import LOCAL_PERSON, Person
from ot.telemetry.meters import PROMETHEUS, Meters, render_prometheus


async def read_messages(receive: Receive, most: int) -> list[Message]:
    """Receive what belongs to one body, up to a message past `most` bytes; what follows is left."""
    messages = [await receive()]
    size = len(messages[0].get("body", b""))
    while messages[-1].get("more_body") and size <= most:
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    return messages


def join_body(messages: Sequence[Message]) -> bytes:
    if len(messages) == 1:
        return bytes(messages[0].get("body", b""))
    return b"".join(message.get("body", b"") for message in messages)


def receive_again(messages: Sequence[Message], receive: Receive) -> Receive:
    """Give what was received once more, then what comes."""
    left = iter(messages)

    async def give() -> Message:
        return next(left, None) or await receive()

    return give


class DrainGate:
    """Answers 503 to what would begin a run or a session once this server drains; answers to questions pass."""

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self._app = app
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        posted = self._draining.begun and scope["type"] == "http" and scope["method"] == "POST"
        if posted and all(name != _HEADER for name, _ in scope["headers"]):
            messages = await read_messages(receive, MAX_LINE)
            if _begins_something(join_body(messages)):
                refusal = PlainTextResponse(
                    f"{NO_NEW_RUNS}\n", status_code=503, headers={"Connection": "close", "Retry-After": "1"}
                )
                await refusal(scope, receive, send)
                return
            receive = receive_again(messages, receive)
        await self._app(scope, receive, send)


def _begins_something(body: bytes) -> bool:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return True
    match request:
        case {"method": "tools/call", "params": {"requestState": str()}}:
            return False
        case {"method": "tools/call" | "initialize" | "subscriptions/listen"}:
            return True
    return False


MOST_SESSIONS = 500  # of one person, 40 kB each; a server has room for 10,000
_IDLE = 1800.0  # seconds after which the server itself closes a session
_SESSION = "mcp-session-id"
_NOT_OF_ANOTHER = (b"content-length", b"content-type", _SESSION.encode())  # headers of one request alone
_HEADER = _SESSION.encode()


class LimitedSessions:
    """Closes the session that was not used for longest where a person has too many."""

    def __init__(self, app: ASGIApp, *, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._most = most
        self._clock = clock
        self._sessions: dict[str, dict[str, float]] = {}  # by person: when each was used, the last one last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        person: Person = scope.get(SCOPE_KEY, LOCAL_PERSON)
        who, session = person.principal, Headers(scope=scope).get(_SESSION)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                used = session or Headers(raw=message["headers"]).get(_SESSION)
                if used is not None:
                    is_left = scope["method"] != "DELETE" and message["status"] != 404
                    self._note(who, used, is_left=is_left)
            await send(message)

        await self._app(scope, receive, noting)
        while len(self._sessions.get(who, ())) > self._most:  # close one as its person could
            oldest = next(iter(self._sessions[who]))
            self._note(who, oldest, is_left=False)
            kept = [(name, value) for name, value in scope["headers"] if name not in _NOT_OF_ANOTHER]
            headers = [*kept, (_HEADER, oldest.encode("latin-1"))]
            await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing_more, _nobody)

    def _note(self, who: str, session: str, *, is_left: bool) -> None:
        """Note that a session was used, or is there no more; what was not used for long the server has closed."""
        now, sessions = self._clock(), self._sessions.setdefault(who, {})
        sessions.pop(session, None)
        if is_left:
            sessions[session] = now
        while sessions and now - next(iter(sessions.values())) > _IDLE:
            del sessions[next(iter(sessions))]
        if not sessions:
            del self._sessions[who]


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(_: Message) -> None:
    """Send nothing: nobody has asked."""


class SessionNames:
    """Puts the name of this replica before the ids of its sessions, by which a balancer finds it, and takes it off."""

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._mark = f"{name}.".encode("latin-1")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mark = self._mark

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                told = message["headers"]
                headers = [(name, mark + value if name.lower() == _HEADER else value) for name, value in told]
                message = {**message, "headers": headers}
            await send(message)

        if scope["type"] == "http":
            asked = scope["headers"]
            headers = [(name, value.removeprefix(mark) if name == _HEADER else value) for name, value in asked]
            await self._app({**scope, "headers": headers}, receive, named)
        else:
            await self._app(scope, receive, send)


_BLOCK = 4096  # bytes that a disk has to have left
PATIENCE = 2.0  # seconds that a part may take to say that it is there
# Headers with which a balancer says that it passes on the request of another machine.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")

Check = Callable[[], Awaitable[str]]
"""Says why requests should go elsewhere for now; an empty text if they may come."""


async def why_disk_not_ready(folder: Path) -> str:
    """Say in general words why nothing can be written to a folder; an empty text if it can."""

    def probe() -> str:
        try:
            make_private(folder)
            with TemporaryFile(dir=folder) as file:
                file.write(bytes(_BLOCK))
        except OSError as error:
            return "is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "cannot be written to"
        return ""

    return await anyio.to_thread.run_sync(probe)


def watch_routes(
    checks: Mapping[str, Check], meters: Meters, is_administrator: Callable[[Request], Awaitable[bool]]
) -> list[Route]:
    """Build the routes, with the `checks` of parts by name; figures are for this machine and administrators only."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse(f"ok {VERSION}\n")

    async def readyz(_: Request) -> Response:
        found = dict.fromkeys(checks, f"gave no answer within {PATIENCE:g} s")
        for name, check in checks.items():
            with anyio.move_on_after(PATIENCE):
                found[name] = await check()
        problems = {name: reason for name, reason in found.items() if reason}
        return JSONResponse({"ready": not problems, "problems": problems}, status_code=503 if problems else 200)

    async def metrics(request: Request) -> Response:
        # A balancer on this machine asks for others, and a page may have made up a host.
        peer, named = request.client, request.headers.get("host", "")
        host = named.rpartition(":")[0] or named
        near = (peer is None or is_loopback(peer.host)) and (host in ("", "localhost") or is_loopback(host.strip("[]")))
        here = near and not any(header in request.headers for header in _FORWARDED)
        if not here and not await is_administrator(request):
            return PlainTextResponse("The figures are for administrators and for this machine itself.\n", 403)
        return Response(render_prometheus(meters), media_type=PROMETHEUS)

    return [Route(f"/{ask.__name__}", ask, methods=["GET"]) for ask in (healthz, readyz, metrics)]
