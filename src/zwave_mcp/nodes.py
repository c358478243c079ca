"""Nodes of a Z-Wave network, which of them are devices, and their values: what each is, and since when it is known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum, IntEnum
from typing import NamedTuple

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field

SECRET = "***"
_BROADCAST = {0, 255, 4095}  # addresses that stand for every node, not for one


class CommandClass(IntEnum):
    """The command classes that this server knows the meaning of, by their numbers in the Z-Wave standard."""

    BINARY_SWITCH = 0x25
    MULTILEVEL_SWITCH = 0x26
    BINARY_SENSOR = 0x30
    MULTILEVEL_SENSOR = 0x31
    METER = 0x32
    THERMOSTAT_MODE = 0x40
    THERMOSTAT_OPERATING_STATE = 0x42
    THERMOSTAT_SETPOINT = 0x43
    DOOR_LOCK = 0x62
    USER_CODE = 0x63
    NOTIFICATION = 0x71
    NODE_NAMING = 0x77
    BATTERY = 0x80


class ValueId(NamedTuple):
    """The identity of a value; `key` sets values of one property apart, such as the set points of a thermostat."""

    node: int
    command_class: int
    endpoint: int
    property: str | int
    key: str | int | None = None

    def is_of(self, command_class: int, name: str) -> bool:
        """True if it names this property of this command class, at whichever endpoint and key."""
        return self.command_class == command_class and self.property == name

    def sibling(self, name: str) -> ValueId:
        return ValueId(self.node, self.command_class, self.endpoint, name, self.key)


@dataclass(frozen=True, slots=True)
class Value:
    id: ValueId
    value: Json = None
    updated: datetime | None = None  # when the driver last heard it, None if unknown
    label: str = ""
    property_name: str = ""
    key_name: str = ""
    unit: str | None = None
    readable: bool = True
    writeable: bool = False
    secret: bool = False
    minimum: float | None = None
    maximum: float | None = None
    states: Mapping[str, str] = field(default_factory=dict)  # names of the values that have one, by the value as text

    @property
    def name(self) -> str:
        return self.label or self.property_name or str(self.id.property)

    @property
    def shown(self) -> Json:
        """The value, unless it must not be shown, such as a lock's code."""
        return SECRET if self.secret and self.value is not None else self.value

    @property
    def text(self) -> str | None:
        """The name of the value as it is, where it has one."""
        return None if self.secret else self.states.get(state_key(self.value))


def state_key(value: Json) -> str:
    """Return the text by which a value stands in `states`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def read_milliseconds(stamp: object) -> datetime | None:
    """Read a time as JavaScript writes it; None for anything else."""
    if isinstance(stamp, bool) or not isinstance(stamp, (int, float)) or stamp <= 0:
        return None
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def read_iso(stamp: object) -> datetime | None:
    """Read a time in ISO form; None for anything else."""
    if not isinstance(stamp, str):
        return None
    try:
        read = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


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
        return self.name or f"Node {self.id}"
