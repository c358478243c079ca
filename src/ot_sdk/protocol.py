"""JSON-RPC 2.0, one message per line: the messages of both sides, and lines cut out of a stream.

From the server: the requests `start` (once, before anything else) and `call`, the notification `cancel`.
From the worker: the request `call`, the notifications `progress` and `log`. Each side counts its own requests.
"""

from __future__ import annotations

import json
from collections.abc import Collection

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ot_sdk.json_types import Message

TAG = b'"$"'
_TAG = TAG.decode("ascii")
_INTEGER = '{"$":"int","v":"'
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT = frozenset({str})
# Circles are found by `_is_plain`, which has no end in one.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)


class NoValueError(TypeError):
    """A value that cannot cross: the problem, and where it is."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


def encode(value: object, name: str = "the result") -> str:
    """Write a value as ASCII JSON, tagged where it is not plain; raises NoValueError, which calls the value `name`."""
    try:
        if _is_plain(value):
            text = _ENCODER.encode(value)
            if _TAG not in text:
                return text
    except (RecursionError, ValueError):  # a circle; an integer with more digits than Python writes
        pass
    from ot_kernel.values import MAX_NUMBER, UnsupportedValueError, dumps  # noqa: PLC0415 - most workers never need the vocabulary

    try:
        text = dumps(value, where=name)
    except UnsupportedValueError as error:
        raise NoValueError(error.where, error.reason) from None
    # A kernel may write a longer number, of which only the beginning is shown; here nobody would read it.
    if len(text) > MAX_NUMBER and any(rest.find('"') > MAX_NUMBER for rest in text.split(_INTEGER)[1:]):
        raise NoValueError(name, f"a number of more than {MAX_NUMBER:,} digits")
    return text


def decode(value: object) -> Any:
    """Return what an encoded value stands for; raises ValueError for anything that `encode` does not write."""
    from ot_kernel.values import decode as decode_tagged  # noqa: PLC0415 - most workers never need the vocabulary

    return decode_tagged(value)


def is_plain(value: object) -> bool:
    try:
        return _is_plain(value)
    except RecursionError:
        return False


def _is_plain(value: object) -> bool:
    """True if all of it has one of JSON's own types; looks at flat lists and dicts without a loop of its own."""
    if type(value) in _SCALARS:
        return True
    if type(value) is dict:
        return _TEXT.issuperset(map(type, value)) and _all_plain(value.values())
    return type(value) is list and _all_plain(value)


def _all_plain(items: Collection[object]) -> bool:
    return _SCALARS.issuperset(map(type, items)) or all(map(_is_plain, items))


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
        if type(read[0]) is not dict or read[1] != len(text):
            raise ValueError
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"it wrote a line that is not a message: {_excerpt(line)}") from error
    return read[0]


def write_request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    """Write a request, to be answered under its number."""
    return _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def write_call(number: int, tool: str, arguments: Mapping[str, object], slot: int) -> bytes:
    """Write the most frequent request around its arguments; raises NoValueError, which names one of them."""
    line = b'{"jsonrpc":"2.0","id":%d,"method":"call","params":{"tool":%s,"slot":%d,"arguments":%s}}\n'
    return line % (number, encode(tool).encode("ascii"), slot, encode(arguments, "the arguments").encode("ascii"))


def write_notification(method: str, params: Mapping[str, object]) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def write_result(number: int, value: object, name: str = "the result") -> bytes:
    """Write the answer to a request; raises NoValueError, which calls the value `name`."""
    line = b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (number, encode(value, name).encode("ascii"))
    if len(line) > MAX_MESSAGE:
        raise ValueError(f"{name} has {len(line)} bytes as JSON; at most {MAX_MESSAGE} can be sent")
    return line


def write_error(number: int, code: int, message: str, **data: object) -> bytes:
    return _line({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, "data": data}})


def _line(message: Mapping[str, object]) -> bytes:
    return f"{encode(message, 'the message')}\n".encode("ascii")


def _excerpt(line: bytes) -> str:
    text = repr(line[:80].decode("utf-8", "replace"))
    return text if len(line) <= 80 else f"{text} and {len(line) - 80} bytes more"
