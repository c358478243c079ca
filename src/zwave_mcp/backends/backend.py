"""The interface of a way to reach a Z-Wave network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import IntEnum
from typing import Protocol

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from zwave_mcp.values import ValueId

ANSWER_WITHIN = 20.0  # seconds: a driver tries a silent device several times before it gives up


class SetStatus(IntEnum):
    """The driver's verdict on a command, with its own numbers."""

    NO_DEVICE_SUPPORT = 0
    WORKING = 1
    FAIL = 2
    ENDPOINT_NOT_FOUND = 3
    NOT_IMPLEMENTED = 4
    INVALID_VALUE = 5
    SUCCESS_UNSUPERVISED = 254
    SUCCESS = 255


@dataclass(frozen=True, slots=True)
class SetOutcome:
    """The answer to a command; `remaining` is how many seconds the device says that it still needs."""

    status: SetStatus
    message: str = ""
    remaining: float = 0.0

    @property
    def accepted(self) -> bool:
        return self.status in (SetStatus.WORKING, SetStatus.SUCCESS_UNSUPERVISED, SetStatus.SUCCESS)


class Backend(Protocol):
    """Keeps a network's model up to date and carries commands; each request raises the errors of a connection."""

    async def run(self) -> None:
        """Connect, feed the model, and connect again after each end, until cancelled."""

    async def set_value(self, value_id: ValueId, value: Json, *, transition: float | None) -> SetOutcome:
        """Send a command to a device; `transition` is how many seconds the change should take."""

    async def poll_value(self, value_id: ValueId) -> Json:
        """Ask the device itself, over the radio."""

    async def refresh(self, node: int) -> None:
        """Ask the device for all its values, over the radio."""

    async def ping(self, node: int) -> bool:
        """True if the device answers."""

    async def read_times(self, ids: Iterable[ValueId]) -> Mapping[ValueId, datetime]:
        """Return when the driver last heard these values, as far as it can tell."""


def read_outcome(answer: object) -> SetOutcome:
    """Read what a driver answers to a command: an object with its status, or yes and no from old ones."""
    if isinstance(answer, bool):
        return SetOutcome(SetStatus.SUCCESS_UNSUPERVISED if answer else SetStatus.FAIL)
    if not isinstance(answer, Mapping):
        return SetOutcome(SetStatus.FAIL, "the answer has no status")
    try:
        status = SetStatus(answer.get("status", -1))
    except ValueError:
        return SetOutcome(SetStatus.FAIL, f"unknown status {answer.get('status')!r}")
    return SetOutcome(status, str(answer.get("message") or ""), read_duration(answer.get("remainingDuration")))


def read_duration(duration: object) -> float:
    """Read a driver's duration in seconds; one that is unknown counts as none."""
    if not isinstance(duration, Mapping):
        return 0.0
    value, unit = duration.get("value"), duration.get("unit")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 10_000:
        return 0.0
    return float(value) * (60 if unit == "minutes" else 1)


def write_value_id(value_id: ValueId) -> JsonObject:
    """Write which value of a node is meant, as the driver reads it."""
    value: JsonObject = {
        "commandClass": value_id.command_class,
        "endpoint": value_id.endpoint,
        "property": value_id.property,
    }
    return value if value_id.key is None else {**value, "propertyKey": value_id.key}


def write_duration(seconds: float) -> str:
    """Write a duration as the driver reads it: whole seconds up to 127, whole minutes beyond."""
    return f"{round(seconds)}s" if round(seconds) <= 127 else f"{round(seconds / 60)}m"
