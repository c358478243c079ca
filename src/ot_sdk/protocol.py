"""JSON-RPC 2.0, one message per line: the messages of both sides, and lines cut out of a stream.

From the server: the requests `start` (once, before anything else) and `call`, the notification `cancel`.
From the worker: the request `call`, the notifications `progress` and `log`. Each side counts its own requests.
"""

from __future__ import annotations

import json

from ot_sdk.values import encode

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ot_sdk.json_types import Message

MAX_MESSAGE = 256 * 1024 * 1024  # bytes
NO_SUCH_TOOL = -32601
TOOL_ERROR = -32000  # the tool raised ToolError
TOOL_FAILED = -32001  # the tool raised something else
UNAVAILABLE = -32002  # the network failed it
NO_VALUE = -32003  # what it returned cannot cross
CANCELLED = -32004
NOT_LOADED = -32005  # the file could not be imported

_decode = json.JSONDecoder().raw_decode  # without looking for space around it, which nobody writes


class ProtocolError(Exception):
    """The other side wrote something that is not a message."""


class Lines:
    """Cuts a stream of bytes into lines, however they arrive; no byte is looked at twice."""

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._limit = limit  # bytes of one line

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are now complete, without their ends; raises ProtocolError for one that is too long."""
        *complete, rest = data.split(b"\n")
        if complete and self._parts:
            complete[0] = b"".join([*self._parts, complete[0]])
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise ProtocolError(f"it wrote a line of more than {self._limit} bytes")
        return complete


def read_message(line: bytes) -> Message:
    """Read one line as a message, whose values are still encoded; raises ProtocolError."""
    try:
        text = line.decode("utf-8").strip()
        read: tuple[Message, int] = _decode(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"it wrote a line that is not a message: {_excerpt(line)}") from error
    message, end = read
    if type(message) is not dict or end != len(text):
        raise ProtocolError(f"it wrote a line that is not a message: {_excerpt(line)}")
    return message


def write_request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    """Write a request, to be answered under its number."""
    return _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def write_call(number: int, tool: str, arguments: Mapping[str, object], slot: int) -> bytes:
    """Write the most frequent request around its arguments; raises NoValueError, which names one of them."""
    line = b'{"jsonrpc":"2.0","id":%d,"method":"call","params":{"tool":%s,"slot":%d,"arguments":%s}}\n'
    return line % (number, encode(tool).encode("ascii"), slot, encode(arguments, "the arguments").encode("ascii"))


def write_notification(method: str, params: Mapping[str, object]) -> bytes:
    """Write a message that has no answer."""
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def write_result(number: int, value: object, name: str = "the result") -> bytes:
    """Write the answer to a request; raises NoValueError, which calls the value `name`."""
    line = b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (number, encode(value, name).encode("ascii"))
    if len(line) > MAX_MESSAGE:
        raise ValueError(f"{name} has {len(line)} bytes as JSON; at most {MAX_MESSAGE} can be sent")
    return line


def write_error(number: int, code: int, message: str, **data: object) -> bytes:
    """Write the answer to a request that failed."""
    error = {"code": code, "message": message, "data": data}
    return _line({"jsonrpc": "2.0", "id": number, "error": error})


def _line(message: Mapping[str, object]) -> bytes:
    return f"{encode(message, 'the message')}\n".encode("ascii")


def _excerpt(line: bytes) -> str:
    text = repr(line[:80].decode("utf-8", "replace"))
    return text if len(line) <= 80 else f"{text} and {len(line) - 80} bytes more"
