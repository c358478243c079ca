"""Lines of bytes as JSON-RPC messages, and the answer to a line that is not one."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_core.line_pipes import LineTooLongError


class MalformedLineError(Exception):
    """A line that is not a message; `answer` is what JSON-RPC sends back, None where it sends nothing."""

    def __init__(self, answer: JSONRPCError | None) -> None:
        super().__init__(answer)
        self.answer = answer


def parse_message(line: bytes | LineTooLongError) -> JSONRPCMessage:
    """Read one message; raises MalformedLineError."""
    if isinstance(line, LineTooLongError):
        raise MalformedLineError(_refuse(INVALID_REQUEST, str(line)))
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
