"""The door of a server that drains: what would begin something is left to another one."""

from __future__ import annotations

import json

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_core.line_pipes import MAX_LINE
from onetool.http.bodies import join_body, read_messages, receive_again
from onetool.replicas.draining import NO_NEW_RUNS, Draining

_SESSION = b"mcp-session-id"


class DrainGate:
    """Answers 503 to whatever would begin a run or a session once this server drains: a balancer asks the next one.

    Answers to questions, and requests of sessions that are open here, pass.
    """

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self._app = app
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._draining.begun and scope["type"] == "http" and scope["method"] == "POST" and not _has_session(scope):
            messages = await read_messages(receive, MAX_LINE)
            if _begins_something(join_body(messages)):
                refusal = PlainTextResponse(
                    f"{NO_NEW_RUNS}\n", status_code=503, headers={"Connection": "close", "Retry-After": "1"}
                )
                await refusal(scope, receive, send)
                return
            receive = receive_again(messages, receive)
        await self._app(scope, receive, send)


def _has_session(scope: Scope) -> bool:
    return any(name == _SESSION for name, _ in scope["headers"])


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
