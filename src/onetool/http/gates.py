"""Layers before the SDK: bodies that are looked at, the gate of a server that drains, and limited, named sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_core.line_pipes import MAX_LINE
from onetool.people.person_of import SCOPE_KEY
from onetool.replicas.draining import NO_NEW_RUNS, Draining
from ot.clients.person import LOCAL_PERSON, Person


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
    """Answers 503 to whatever would begin a run or a session once this server drains: a balancer asks the next one.

    Answers to questions, and requests of sessions that are open here, pass.
    """

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
_GONE = 404
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
                    is_left = scope["method"] != "DELETE" and message["status"] != _GONE
                    self._note(who, used, is_left=is_left)
            await send(message)

        await self._app(scope, receive, noting)
        while len(self._sessions.get(who, ())) > self._most:
            await self._close(next(iter(self._sessions[who])), who, scope)

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

    async def _close(self, session: str, who: str, scope: Scope) -> None:
        self._note(who, session, is_left=False)
        kept = [(name, value) for name, value in scope["headers"] if name not in _NOT_OF_ANOTHER]
        headers = [*kept, (_SESSION.encode(), session.encode("latin-1"))]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing_more, _nobody)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(_: Message) -> None:
    """Send nothing: nobody has asked."""


class SessionNames:
    """Puts the name of this replica before the ids of sessions, and takes it off again.

    A session lives in the replica that opened it, and a balancer tells by `NAME.` where its requests belong.
    """

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._mark = f"{name}.".encode("latin-1")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, self._named(name, value)) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        if scope["type"] == "http":
            headers = [(name, self._plain(name, value)) for name, value in scope["headers"]]
            await self._app({**scope, "headers": headers}, receive, named)
        else:
            await self._app(scope, receive, send)

    def _named(self, name: bytes, value: bytes) -> bytes:
        return self._mark + value if name.lower() == _HEADER else value

    def _plain(self, name: bytes, value: bytes) -> bytes:
        return value.removeprefix(self._mark) if name == _HEADER else value
