"""Nodes with values, for tests that need no driver."""

from __future__ import annotations

from typing import Any

from zwave_mcp.nodes import Node, Status, Value, ValueId


def make_node(number: int, name: str = "", location: str = "", *values: Value, **more: Any) -> Node:
    node = Node(number, name=name, location=location, status=Status.ALIVE, ready=True, **more)
    node.values = {value.id: value for value in values}
    return node


def make_switch(node: int, endpoint: int = 0, *, value: bool | None = False) -> list[Value]:
    target = ValueId(node, 0x25, endpoint, "targetValue")
    return [Value(target, value, writeable=True), Value(target.sibling("currentValue"), value)]


def make_setpoint(node: int, key: int, name: str, *, unit: str = "°C", endpoint: int = 0) -> Value:
    identity = ValueId(node, 0x43, endpoint, "setpoint", key)
    low, high = (5, 30) if unit == "°C" else (41, 86)
    return Value(identity, low, writeable=True, key_name=name, unit=unit, minimum=low, maximum=high)
