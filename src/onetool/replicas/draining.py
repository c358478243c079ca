"""The end of a server that others take over from: no new runs, those in progress end by themselves or are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_official import MAX_LINE

GRACE = 20.0  # seconds that runs may take to end, where the configuration does not say
_ANSWERING = 5.0  # seconds for runs that were stopped to end
_LOOKING = 0.05  # seconds between two looks at what still goes on
NO_NEW_RUNS = "This server is about to end and takes no new runs. Connect again: another one will serve you."
_STOPPED = (
    "The run was stopped: its server was told to end, and could not wait any longer. "
    'Code that begins with ot.resume(run="{0}") goes on from what it had done.'
)
_SESSION = b"mcp-session-id"


class Draining:
    """Knows whether this server is about to end, and which runs of requests go on in it."""

    def __init__(self) -> None:
        self.begun = False
        self._running: set[anyio.CancelScope] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Carry out a run for a request; it is cancelled, and left behind, when there is no more time."""
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                yield
            finally:
                self._running.discard(scope)

    async def drain(self, grace: float, goes_on: Callable[[], bool] = lambda: False) -> None:
        """Begin nothing any more, and wait for what goes on; in the end requests are answered without their runs."""
        self.begun = True
        with anyio.move_on_after(grace):
            await _until(lambda: not self._running and not goes_on())
        for scope in list(self._running):
            scope.cancel()
        with anyio.move_on_after(_ANSWERING):
            await _until(lambda: not self._running)


async def _until(over: Callable[[], bool]) -> None:
    while not over():  # noqa: ASYNC110 - several parts know what goes on, and none of them should know of this
        await anyio.sleep(_LOOKING)


def word_stopped(run: str) -> str:
    """Word for a client that its run was stopped, and how to go on."""
    return _STOPPED.format(run)


class DrainGate:
    """Answers 503 to whatever would begin a run or a session once this server drains: a balancer asks the next one.

    Answers to questions, and requests of sessions that are open here, pass.
    """

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self._app = app
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._draining.begun and scope["type"] == "http" and scope["method"] == "POST" and not _has_session(scope):
            messages = await _read_body(receive)
            if _begins_something(b"".join(message.get("body", b"") for message in messages)):
                refusal = PlainTextResponse(
                    f"{NO_NEW_RUNS}\n", status_code=503, headers={"Connection": "close", "Retry-After": "1"}
                )
                await refusal(scope, receive, send)
                return
            receive = _again(messages, receive)
        await self._app(scope, receive, send)


def _has_session(scope: Scope) -> bool:
    return any(name == _SESSION for name, _ in scope["headers"])


async def _read_body(receive: Receive) -> list[Message]:
    messages, size = [await receive()], 0
    while messages[-1].get("more_body") and size <= MAX_LINE:
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    return messages


def _again(messages: list[Message], receive: Receive) -> Receive:
    left = iter(messages)

    async def give() -> Message:
        return next(left, None) or await receive()

    return give


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
