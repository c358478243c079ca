"""The SDK's messages over lines: what a client sends, and what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress

import anyio
import mcp_types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from mcp_core.facts_error import FactsError
from mcp_core.line_pipes import LinePipes, LineTooLongError

_MOST_DUE = 100  # lines that wait for the session; then no more are read


class MalformedLineError(FactsError):
    """A line that is not a message."""

    answer: mcp_types.JSONRPCError | None  # what JSON-RPC sends back; None where it sends nothing


def parse_message(line: bytes | LineTooLongError) -> mcp_types.JSONRPCMessage:
    """Read one message; raises MalformedLineError."""
    if isinstance(line, LineTooLongError):
        raise MalformedLineError(_refuse(mcp_types.INVALID_REQUEST, str(line)))
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        raise MalformedLineError(_judge(line)) from None
    if isinstance(message, mcp_types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        raise MalformedLineError(_refuse(mcp_types.INVALID_REQUEST, "the id of a request is a string or an integer"))
    return message


def _judge(line: bytes) -> mcp_types.JSONRPCError | None:
    if not line.strip():
        return None
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        return _refuse(mcp_types.PARSE_ERROR, f"not JSON: {reason}")
    if not isinstance(content, dict):
        return _refuse(mcp_types.INVALID_REQUEST, "a message is a JSON object; batches are not part of MCP")
    if "method" not in content and ("result" in content or "error" in content):
        return None  # an answer; answering it would be nonsense
    identifier = content.get("id")  # none, as JSON-RPC says, where it could not be written back
    if isinstance(identifier, str):
        identifier = None if any("\ud800" <= letter <= "\udfff" for letter in identifier) else identifier
    elif type(identifier) is not int:
        identifier = None
    return _refuse(mcp_types.INVALID_REQUEST, "not a JSON-RPC 2.0 request", identifier)


def write_line(message: mcp_types.JSONRPCMessage) -> bytes:
    """Return a message as a line, whatever is in it: half a surrogate pair, which JSON knows only as an escape."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), default=str)
    return text.encode() + b"\n"


def _refuse(code: int, reason: str, identifier: str | int | None = None) -> mcp_types.JSONRPCError:
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=identifier, error=mcp_types.ErrorData(code=code, message=reason))


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
        self._pipes.write(write_line(item.message))
        await self._pipes.drained()
        if self._pipes.broken:
            raise anyio.BrokenResourceError

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
        return len(self._due)

    def give(self, line: bytes | LineTooLongError) -> None:
        self._due.append(line)
        self._news.set()
        if self._pipes is not None and len(self._due) >= _MOST_DUE:
            self._pipes.hold()

    def end(self) -> None:
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
        self.end()
