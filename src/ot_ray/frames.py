"""Frames between the server, the driver and nodes, and the order for a worker, by content."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import asdict, dataclass
from enum import IntEnum

MOST = 64 * 1024  # bytes of output in one frame: what Ray passes on without its object store
_HEADER = struct.Struct("<BIQ")


class Kind(IntEnum):
    """The meaning of a frame; facts are JSON."""

    # from the server
    PLACE = 1  # facts: what the worker needs of a node; then, after a line feed, its order
    WRITE = 2  # bytes for its stdin
    CLOSE = 3  # no more of them
    KILL = 4
    # from the driver
    CONNECTED = 10  # facts of the cluster
    REFUSED = 11  # a text: why there is no cluster
    # from a node, or from the driver in its stead
    TOLD = 20  # a text: what is being done
    PLACED = 21  # a text: the node on which its process was started
    OUTPUT = 22  # bytes of its stdout
    ENDED = 23  # facts


def write_frame(kind: Kind, worker: int, payload: bytes = b"") -> bytes:
    return _HEADER.pack(kind, worker, len(payload)) + payload


class Frames:
    """Cuts a stream of bytes into frames, however they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Kind, int, bytes]]:
        """Return the frames that are now complete; raises ValueError for a kind that does not exist."""
        self._buffer += data
        complete = []
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            kind, worker, length = _HEADER.unpack_from(self._buffer, start)
            end = start + _HEADER.size + length
            if len(self._buffer) < end:
                break
            complete.append((Kind(kind), worker, bytes(self._buffer[start + _HEADER.size : end])))
            start = end
        del self._buffer[:start]
        return complete


@dataclass(frozen=True)
class Bounds:
    """The access that an extension has beyond its own files; paths are those of the node."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    hosts: tuple[str, ...]
    memory: int | None


@dataclass(frozen=True)
class Order:
    """An extension's file, its script header and lock, and its bounds, if it has any."""

    name: str
    source: bytes
    header: bytes
    lock: bytes
    checked: bool  # whether uv compares lock and header, which it need not if we have made the lock
    bounds: Bounds | None = None

    def to_json(self) -> bytes:
        facts = asdict(self)
        for key in ("source", "header", "lock"):
            facts[key] = base64.b64encode(facts[key]).decode()
        return json.dumps(facts).encode()


def read_order(text: bytes) -> Order:
    facts = json.loads(text)
    for key in ("source", "header", "lock"):
        facts[key] = base64.b64decode(facts[key])
    bounds = facts.pop("bounds")
    if bounds is not None:
        places = {key: tuple(bounds[key]) for key in ("read", "write", "hosts")}
        bounds = Bounds(**places, memory=bounds["memory"])
    return Order(**facts, bounds=bounds)
