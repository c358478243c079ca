"""Nodes of a Z-Wave network, and which of them are devices."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field
from zwave_mcp.values import Value, ValueId

_BROADCAST = {0, 255, 4095}  # addresses that stand for every node, not for one


class Status(Enum):
    """The state of a node: it can be talked to only while it is alive."""

    UNKNOWN = "unknown"
    ASLEEP = "asleep"
    AWAKE = "awake"
    DEAD = "dead"
    ALIVE = "alive"


@dataclass(slots=True)
class Node:
    """One node as far as it is known; the network's owner changes it as messages arrive."""

    id: int
    name: str = ""
    location: str = ""
    status: Status = Status.UNKNOWN
    ready: bool = False
    interview: str = ""
    controller: bool = False
    virtual: bool = False
    product: str = ""
    last_seen: datetime | None = None
    statistics: Mapping[str, Json] = field(default_factory=dict)
    values: dict[ValueId, Value] = field(default_factory=dict)

    @property
    def is_device(self) -> bool:
        """True if it is a thing in the house: not the controller, not a group or a broadcast address."""
        return not (self.controller or self.virtual or self.id in _BROADCAST)

    @property
    def title(self) -> str:
        """Its name, or a stand-in if it has none."""
        return self.name or f"Node {self.id}"

    @property
    def full_title(self) -> str:
        """Its name with its place, which tells devices of the same name apart."""
        return f"{self.title} ({self.location})" if self.location else self.title
