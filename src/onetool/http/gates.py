"""Bodies of requests that are looked at before somebody else reads them, and the gate of a server that drains."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_core.line_pipes import MAX_LINE
from onetool.replicas.draining import NO_NEW_RUNS, Draining

_SESSION = b"mcp-session-id"


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
        if posted and all(name != _SESSION for name, _ in scope["headers"]):
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
