"""Lines of bytes as JSON-RPC messages, and the answer to a line that is not one."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

MAX_LINE = 16 * 2**20
"""Bytes of one message: a command of the largest size, every character of it escaped, and room to spare."""


class MalformedLineError(Exception):
    """A line that is not a message; `answer` is what JSON-RPC sends back, None where it sends nothing."""

    def __init__(self, answer: JSONRPCError | None) -> None:
        super().__init__(answer)
        self.answer = answer


class LineBuffer:
    """Bytes as they arrive, cut into lines; a line past the limit is not kept."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._bytes = bytearray()
        self._searched = 0
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Add what was read."""
        self._bytes += data

    def take(self) -> bytes | None:
        """Return the next whole line, None if there is none yet; raises MalformedLineError for one past the limit."""
        end = self._bytes.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._bytes)
            if self._searched > self._limit:
                self._dropped += self._searched
                self._bytes.clear()
                self._searched = 0
            return None
        return self._cut(end)

    def take_rest(self) -> bytes:
        """Return what is left at the end of input: a last line without its end."""
        return self._cut(len(self._bytes))

    def _cut(self, end: int) -> bytes:
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 1]
        self._searched = 0
        size, self._dropped = self._dropped + len(line), 0
        if size > self._limit:
            raise MalformedLineError(_refuse(INVALID_REQUEST, f"a message of {size} bytes; at most {self._limit}"))
        return line


def parse_message(line: bytes) -> JSONRPCMessage:
    """Read one message; raises MalformedLineError."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        raise MalformedLineError(_judge(line)) from None


def _judge(line: bytes) -> JSONRPCError | None:
    if not line.strip():
        return None
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        return _refuse(PARSE_ERROR, f"not JSON: {reason}")
    if not isinstance(content, dict):
        return _refuse(INVALID_REQUEST, "a message is a JSON object; batches are not part of MCP")
    if "method" not in content and ("result" in content or "error" in content):
        return None  # an answer; answering it would be nonsense
    identifier = content.get("id")
    known = identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None
    return _refuse(INVALID_REQUEST, "not a JSON-RPC 2.0 request", known)


def _refuse(code: int, reason: str, identifier: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=identifier, error=ErrorData(code=code, message=reason))
