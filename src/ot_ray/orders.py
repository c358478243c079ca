"""The order for a worker: all that a node needs to make its environment and start it, by content."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass


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
        """Return it as it travels."""
        facts = asdict(self)
        for key in ("source", "header", "lock"):
            facts[key] = base64.b64encode(facts[key]).decode()
        return json.dumps(facts).encode()


def read_order(text: bytes) -> Order:
    """Return an order that has arrived."""
    facts = json.loads(text)
    for key in ("source", "header", "lock"):
        facts[key] = base64.b64decode(facts[key])
    bounds = facts.pop("bounds")
    if bounds is not None:
        places = {key: tuple(bounds[key]) for key in ("read", "write", "hosts")}
        bounds = Bounds(**places, memory=bounds["memory"])
    return Order(**facts, bounds=bounds)
