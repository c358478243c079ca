"""Devices and values as tools show them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from mcp_core import known
from mcp_core.json_types import Json, JsonObject
from zwave_mcp.abilities import list_abilities
from zwave_mcp.health import write_time
from zwave_mcp.lights import read_percent
from zwave_mcp.locks import SECURED
from zwave_mcp.nodes import Node
from zwave_mcp.values import CommandClass, Value

_LIGHTS = frozenset({CommandClass.BINARY_SWITCH, CommandClass.MULTILEVEL_SWITCH})


def describe_device(node: Node) -> JsonObject:
    """Describe a device in a few words: what it is, and the one thing about it that people ask for."""
    return {
        "node": node.id,
        "name": node.title,
        "location": node.location,
        "status": node.status.value,
        "abilities": list(list_abilities(node)),
        "last_seen": write_time(node.last_seen),
        **_describe_state(node),
        **known(
            endpoints=sorted({value.id.endpoint for value in node.values.values()} - {0}) or None,
            product=node.product or None,
            ready=None if node.ready else False,
        ),
    }


def describe_value(value: Value, *, several_endpoints: bool) -> JsonObject:
    """Describe a value with everything that is needed to understand it, or to set it.

    `updated` is when the driver last heard it, null where that is not known.
    """
    limits = known(min=value.minimum, max=value.maximum, choices=list(value.states.values()) or None)
    return {
        "name": value.name,
        "value": value.shown,
        "updated": write_time(value.updated),
        **known(
            text=value.text,
            unit=value.unit or None,
            endpoint=value.id.endpoint if several_endpoints else None,
            key=value.key_name if value.key_name and value.key_name not in value.name else None,
        ),
        **({"writeable": True, **limits} if value.writeable else {}),
    }


def _describe_state(node: Node) -> JsonObject:
    """Say whether it is on, how bright, or locked, where the device as a whole has one such state."""
    light = _find_only(node, _LIGHTS, "currentValue")
    lock = _find_only(node, {CommandClass.DOOR_LOCK}, "currentMode")
    level = read_percent(light)
    on = light if isinstance(light, bool) else None if level is None else level > 0
    return known(on=on, level=level, locked=lock == SECURED if isinstance(lock, int) else None)


def _find_only(node: Node, classes: AbstractSet[int], name: str) -> Json:
    values = node.values.values()
    found = [value.value for value in values if value.id.command_class in classes and value.id.property == name]
    return found[0] if len(found) == 1 else None
