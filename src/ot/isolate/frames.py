"""Messages between the server and a helper process: a mark, four bytes of length, then tagged JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, TypedDict

from ot_kernel import values

HEADER = struct.Struct("!?I")
MAX_FRAME = 256 * 1024 * 1024
CONNECTION_VARIABLE = "OT_HELPER_CONNECTION"
"""The environment variable that names the descriptor of a connection which a helper was given."""


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


def write_frame(message: Mapping[str, object]) -> bytes:
    """Write a message as bytes; raises UnsupportedValueError if a value cannot cross, ValueError if it is too large."""
    given = message.get("arguments")
    if type(given) is dict:
        message = {**message, "arguments": {name: values.by_column(value) for name, value in given.items()}}
    payload = values.dumps(message).encode("ascii")
    if len(payload) > MAX_FRAME:
        raise ValueError(f"{len(payload)} bytes are more than a helper process may exchange ({MAX_FRAME})")
    return HEADER.pack(False, len(payload)) + payload


def mark(frame: bytes) -> bytes:
    """Set the mark of a message, which is written before anybody can know what its call left behind."""
    return b"\x01" + frame[1:]


def read_frame(stream: BinaryIO) -> Any:
    """Read the next message of a blocking stream, which the server has written; None at its end."""
    header = stream.read(HEADER.size)
    return read_message(stream.read(HEADER.unpack(header)[1])) if len(header) == HEADER.size else None


def read_message(payload: bytes) -> Any:
    """Read a message; rows by column among arguments, or in fields of a value, stay as they are. Raises ValueError."""
    try:
        message = json.loads(payload)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return {name: values.decode_fields(item) for name, item in message.items()} if type(message) is dict else None
