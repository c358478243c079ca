"""Shares at the door: how many requests and sessions one of many people may have open, so that others find room."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.person_of import SCOPE_KEY
from ot.person import Person

MOST_SESSIONS = 500  # of one person; a server has room for 10,000
_IDLE = 1800.0  # seconds after which the server itself closes a session
_SESSION = "mcp-session-id"
_GONE = 404


class ShareGate:
    """Answers 503 to a person with too many open requests, and closes the oldest of too many sessions.

    It stands behind the gate that knows who they are.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        requests: int,
        sessions: int = MOST_SESSIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._most_requests = requests
        self._most_sessions = sessions
        self._clock = clock
        self._requests: Counter[str] = Counter()
        self._sessions: dict[str, dict[str, float]] = {}  # by person: when each was used, the last one last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        person: Person = scope[SCOPE_KEY]
        who, session = person.principal, Headers(scope=scope).get(_SESSION)
        if self._requests[who] >= self._most_requests:
            await self._refuse(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                used = session or Headers(raw=message["headers"]).get(_SESSION)
                if used is not None:
                    is_left = scope["method"] != "DELETE" and message["status"] != _GONE
                    self._note(who, used, is_left=is_left)
            await send(message)

        self._requests[who] += 1
        try:
            await self._app(scope, receive, noting)
        finally:
            self._requests[who] -= 1
            if not self._requests[who]:
                del self._requests[who]
        while len(self._sessions.get(who, ())) > self._most_sessions:
            await self._close(next(iter(self._sessions[who])), who, scope)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        words = f"{self._most_requests} requests of yours are open, and others need room too: end some of them\n"
        await PlainTextResponse(words, 503, {"Retry-After": "1"})(scope, receive, send)

    def _note(self, who: str, session: str, *, is_left: bool) -> None:
        """Note that a session was used, or is there no more; what was not used for long the server has closed."""
        now, sessions = self._clock(), self._sessions.setdefault(who, {})
        sessions.pop(session, None)
        if is_left:
            sessions[session] = now
        for idle in [other for other, used in sessions.items() if now - used > _IDLE]:
            del sessions[idle]
        if not sessions:
            del self._sessions[who]

    async def _close(self, session: str, who: str, scope: Scope) -> None:
        """Close a session as its person could."""
        self._note(who, session, is_left=False)
        kept = [(name, value) for name, value in scope["headers"] if name not in (b"content-length", b"content-type")]
        headers = [*kept, (_SESSION.encode(), session.encode("latin-1"))]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing_more, _nobody)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(_: Message) -> None:
    """Send nothing: nobody has asked."""
