"""The SDK's messages over lines: what a client sends, and what it is sent."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage

from mcp_core.line_pipes import LinePipes, LineTooLongError
from mcp_official.messages import MalformedLineError, parse_message

_MOST_DUE = 100  # lines that wait for the session; then no more are read


class MessageWriter(ObjectSendStream[SessionMessage]):
    """The messages to the client, but for the first ones that it has had already."""

    def __init__(self, pipes: LinePipes, *, had: int = 0) -> None:
        self._pipes = pipes
        self._had = had

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message; raises BrokenResourceError where the client has stopped reading for good."""
        if self._had:
            self._had -= 1
            return
        self._pipes.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        await self._pipes.drained()
        if self._pipes.broken:
            raise anyio.BrokenResourceError

    async def send_eof(self) -> None:
        """Do nothing: whoever owns the pipes closes them."""

    async def aclose(self) -> None:
        """Do nothing: whoever owns the pipes closes them."""


class MessageReader(ObjectReceiveStream[SessionMessage]):
    """The messages from the client, of lines that it is given; a malformed one is answered and goes no further."""

    def __init__(self) -> None:
        self._pipes: LinePipes | None = None
        self._due: deque[bytes | LineTooLongError] = deque()
        self._ended = False
        self._news = asyncio.Event()

    def connect(self, pipes: LinePipes, *, had: int = 0) -> MessageWriter:
        """Let the pipes wait while too many lines are due; returns the way back."""
        self._pipes = pipes
        return MessageWriter(pipes, had=had)

    @property
    def due(self) -> int:
        """How many lines wait to be taken."""
        return len(self._due)

    def give(self, line: bytes | LineTooLongError) -> None:
        """Take a line."""
        self._due.append(line)
        self._news.set()
        if self._pipes is not None and len(self._due) >= _MOST_DUE:
            self._pipes.hold()

    def end(self) -> None:
        """Take note that the client has closed its side."""
        self._ended = True
        self._news.set()

    async def receive(self) -> SessionMessage:
        """Return the next message; raises EndOfStream when the client has closed its side."""
        while True:
            while not self._due:
                if self._ended:
                    raise anyio.EndOfStream
                self._news.clear()
                if self._pipes is not None:
                    self._pipes.go_on()
                await self._news.wait()
            try:
                return SessionMessage(parse_message(self._due.popleft()))
            except MalformedLineError as malformed:
                if malformed.answer is not None and self._pipes is not None:
                    with suppress(anyio.BrokenResourceError):
                        await MessageWriter(self._pipes).send(SessionMessage(malformed.answer))

    async def aclose(self) -> None:
        """Read nothing more."""
        self.end()
