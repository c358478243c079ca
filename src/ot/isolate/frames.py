"""Messages between the server and a helper process: four bytes of length, then tagged JSON."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from ot_kernel import values

HEADER = struct.Struct("!I")
MAX_FRAME = 256 * 1024 * 1024
BEGUN = b"\x01"  # comes before an answer, when the call begins: without it nothing has happened yet


def write_frame(message: dict[str, Any]) -> bytes:
    """One message as bytes; raises UnsupportedValueError for a value that cannot cross, ValueError for a huge one."""
    payload = values.dumps(message).encode("ascii")
    if len(payload) > MAX_FRAME:
        raise ValueError(f"{len(payload)} bytes are more than a helper process may exchange ({MAX_FRAME})")
    return HEADER.pack(len(payload)) + payload


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message of a blocking stream; None at its end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    payload = stream.read(HEADER.unpack(header)[0])
    message: dict[str, Any] = values.loads(payload)
    return message
