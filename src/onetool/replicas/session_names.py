"""Sessions that carry the name of their replica, so that a balancer can tell where a request of one belongs.

A session lives in the replica that opened it. `NAME.` stands before its id, for clients and the balancer; the SDK knows
the id alone.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADER = b"mcp-session-id"


class SessionNames:
    """Puts the name of this replica before the ids of sessions, and takes it off again."""

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
