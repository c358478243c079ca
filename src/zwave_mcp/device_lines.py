"""Devices and values as tools show them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NotRequired

from typing_extensions import TypedDict

from mcp_core.json_types import Json
from zwave_mcp.abilities import list_abilities
from zwave_mcp.health import write_time
from zwave_mcp.nodes import Node
from zwave_mcp.switches import SECURED, read_percent
from zwave_mcp.values import CommandClass, Value

_LIGHTS = frozenset({CommandClass.BINARY_SWITCH, CommandClass.MULTILEVEL_SWITCH})


class DeviceLine(TypedDict):
    """A device in a few words: `level` in percent, `endpoints` its parts, `ready` false until it is interviewed."""

    node: int
    name: str
    location: str
    status: str
    abilities: list[str]
    last_seen: str | None
    on: NotRequired[bool]
    level: NotRequired[int]
    locked: NotRequired[bool]
    endpoints: NotRequired[list[int]]
    product: NotRequired[str]
    ready: NotRequired[bool]


class ValueLine(TypedDict):
    """A value of a device; `updated` is when the driver last heard it, null where that is not known."""

    name: str
    value: object
    updated: str | None
    text: NotRequired[str]
    unit: NotRequired[str]
    endpoint: NotRequired[int]
    key: NotRequired[str]
    writeable: NotRequired[bool]
    min: NotRequired[float]
    max: NotRequired[float]
    choices: NotRequired[list[str]]


def describe_device(node: Node) -> DeviceLine:
    """Describe a device in a few words: what it is, and the one thing about it that people ask for."""
    line: DeviceLine = {
        "node": node.id,
        "name": node.title,
        "location": node.location,
        "status": node.status.value,
        "abilities": list(list_abilities(node)),
        "last_seen": write_time(node.last_seen),
    }
    _describe_state(node, line)
    endpoints = {value.id.endpoint for value in node.values.values()} - {0}
    if endpoints:
        line["endpoints"] = sorted(endpoints)
    if node.product:
        line["product"] = node.product
    if not node.ready:
        line["ready"] = False
    return line


def describe_value(value: Value, *, several_endpoints: bool) -> ValueLine:
    """Describe a value with everything that is needed to understand it, or to set it."""
    line: ValueLine = {"name": value.name, "value": value.shown, "updated": write_time(value.updated)}
    if value.text is not None:
        line["text"] = value.text
    if value.unit:
        line["unit"] = value.unit
    if several_endpoints:
        line["endpoint"] = value.id.endpoint
    if value.key_name and value.key_name not in value.name:
        line["key"] = value.key_name
    if value.writeable:
        _describe_choice(value, line)
    return line


def _describe_choice(value: Value, line: ValueLine) -> None:
    """Say what a value may be set to."""
    line["writeable"] = True
    if value.minimum is not None:
        line["min"] = value.minimum
    if value.maximum is not None:
        line["max"] = value.maximum
    if value.states:
        line["choices"] = list(value.states.values())


def _describe_state(node: Node, line: DeviceLine) -> None:
    """Say whether it is on, how bright, or locked, where the device as a whole has one such state."""
    light = _find_only(node, _LIGHTS, "currentValue")
    lock = _find_only(node, {CommandClass.DOOR_LOCK}, "currentMode")
    level = read_percent(light)
    on = light if isinstance(light, bool) else None if level is None else level > 0
    if on is not None:
        line["on"] = on
    if level is not None:
        line["level"] = level
    if isinstance(lock, int):
        line["locked"] = lock == SECURED


def _find_only(node: Node, classes: AbstractSet[int], name: str) -> Json:
    values = node.values.values()
    found = [value.value for value in values if value.id.command_class in classes and value.id.property == name]
    return found[0] if len(found) == 1 else None
