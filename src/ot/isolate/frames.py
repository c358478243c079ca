"""Messages between the server and a helper process: a mark, four bytes of length, then tagged JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple, TypedDict

from ot_kernel import values

_HEADER = struct.Struct("!?I")
MAX_FRAME = 256 * 1024 * 1024
CONNECTION_VARIABLE = "OT_HELPER_CONNECTION"
"""The environment variable that names the descriptor of a connection which a helper was given."""


class FrameError(Exception):
    """Bytes that are not a message; the text says why."""


class ChildContext(TypedDict):
    """Everything a call in a helper may use, as values."""

    tool: str
    config: Mapping[str, object]
    project: str
    state: str | None
    outputs: Mapping[str, str]
    secrets: Mapping[str, str]


class CallRequest(TypedDict):
    """A function for a helper to call."""

    module: str
    function: str
    arguments: Mapping[str, object]
    context: ChildContext | None


class HelperCall(CallRequest):
    """The same under its number, as the helper reads it."""

    number: int


class Frame(NamedTuple):
    marked: bool  # the call it answers left processes behind
    payload: bytes


def write_frame(message: Mapping[str, object]) -> bytes:
    """Write a message as bytes; raises UnsupportedValueError if a value cannot cross, ValueError if it is too large."""
    given = message.get("arguments")
    if type(given) is dict:
        message = {**message, "arguments": {name: values.by_column(value) for name, value in given.items()}}
    payload = values.dumps(message).encode("ascii")
    if len(payload) > MAX_FRAME:
        raise ValueError(f"{len(payload)} bytes are more than a helper process may exchange ({MAX_FRAME})")
    return _HEADER.pack(False, len(payload)) + payload


def mark(frame: bytes) -> bytes:
    """Set the mark of a message, which is written before anybody can know what its call left behind."""
    return b"\x01" + frame[1:]


def read_frame(stream: BinaryIO) -> Any:
    """Read the next message of a blocking stream, which the server has written; None at its end."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    return read_message(stream.read(_HEADER.unpack(header)[1]))


def read_message(payload: bytes) -> Any:
    """Read a message; rows by column among arguments, or in fields of a value, stay as they are. Raises ValueError."""
    try:
        message = json.loads(payload)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return {name: values.decode_fields(item) for name, item in message.items()} if type(message) is dict else None


class FrameBuffer:
    """Collects one message as its pieces arrive."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Frame | None:
        """Return the message once it is complete; raises FrameError for anything else."""
        self._received += data
        if len(self._received) < _HEADER.size:
            return None
        marked, size = _HEADER.unpack_from(self._received)
        if size > MAX_FRAME:
            raise FrameError(f"it announced an answer of {size} bytes")
        missing = _HEADER.size + size - len(self._received)
        if missing > 0:
            return None
        if missing < 0:
            raise FrameError("it wrote more than its answer")
        payload = bytes(memoryview(self._received)[_HEADER.size :])
        self._received = bytearray()
        return Frame(marked, payload)
