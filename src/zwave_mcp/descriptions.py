"""Devices, their values, and the state of the network in one look, as tools show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NotRequired

from typing_extensions import TypedDict

from mcp_core.json_types import Json
from zwave_mcp.controls import SECURED, read_percent
from zwave_mcp.devices import list_abilities
from zwave_mcp.network import Network
from zwave_mcp.nodes import CommandClass, Node, Status, Value

_LIGHTS = {CommandClass.BINARY_SWITCH, CommandClass.MULTILEVEL_SWITCH}


class Connection(TypedDict):
    """The connection to the Z-Wave server; `since` is when it got into this state, `server` what the server says."""

    backend: str
    address: str
    state: str
    since: str | None
    problem: NotRequired[str]
    failed_attempts: NotRequired[int]
    server: NotRequired[dict[str, object]]


class Radio(TypedDict):
    """The radio and its driver; the statistics are the driver's own."""

    driver_ready: bool
    driver: str
    status: str
    home_id: str
    all_nodes_ready: bool | None
    statistics: dict[str, object]


class Attention(TypedDict):
    """A device that may need some."""

    node: int
    name: str
    location: str
    last_seen: str | None
    interview: NotRequired[str]


class Health(TypedDict):
    """The network now; `problems` is empty where nothing needs attention, `devices` counts them by status.

    Of one that is not connected only the connection is known.
    """

    healthy: bool
    problems: list[str]
    connection: Connection
    controller: NotRequired[Radio]
    devices: NotRequired[dict[str, int]]
    dead: NotRequired[list[Attention]]
    asleep: NotRequired[list[Attention]]
    not_ready: NotRequired[list[Attention]]


def describe_health(network: Network) -> Health:
    connection = _describe_connection(network)
    if network.link.state != "connected":
        problem = network.link.problem or "still connecting for the first time"
        return {"healthy": False, "problems": [f"Not connected: {problem}."], "connection": connection}
    devices = network.devices()
    controller = network.controller
    dead = [node for node in devices if node.status is Status.DEAD]
    not_ready = [node for node in devices if not node.ready and node.status is not Status.DEAD]
    problems = []
    if not controller.ready:
        problems.append("The driver of the controller is not ready.")
    if controller.status in ("unresponsive", "jammed"):
        problems.append(f"The controller is {controller.status}.")
    if dead:
        problems.append(f"Dead: {', '.join(node.title for node in dead)}.")
    if not_ready:
        problems.append(f"Not yet interviewed: {', '.join(node.title for node in not_ready)}.")
    return {
        "healthy": not problems,
        "problems": problems,
        "connection": connection,
        "controller": {
            "driver_ready": controller.ready,
            "driver": controller.driver,
            "status": controller.status,
            "home_id": controller.home_id,
            "all_nodes_ready": controller.all_nodes_ready,
            "statistics": dict(controller.statistics),
        },
        "devices": {"total": len(devices), **Counter(node.status.value for node in devices)},
        "dead": [_describe_device(node) for node in dead],
        "asleep": [_describe_device(node) for node in devices if node.status is Status.ASLEEP],
        "not_ready": [_describe_device(node) for node in not_ready],
    }


def write_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _describe_connection(network: Network) -> Connection:
    link, since = network.link, write_time(network.link.since)
    connection = Connection(backend=network.backend, address=network.address, state=link.state, since=since)
    if link.problem:
        connection["problem"] = link.problem
    if link.attempts:
        connection["failed_attempts"] = link.attempts
    if link.facts:
        connection["server"] = dict(link.facts)
    return connection


def _describe_device(node: Node) -> Attention:
    line = Attention(node=node.id, name=node.title, location=node.location, last_seen=write_time(node.last_seen))
    if not node.ready and node.interview:
        line["interview"] = node.interview
    return line


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
    abilities, status, seen = list(list_abilities(node)), node.status.value, write_time(node.last_seen)
    line = DeviceLine(
        node=node.id, name=node.title, location=node.location, status=status, abilities=abilities, last_seen=seen
    )
    # Whether it is on, how bright, or locked, where the device as a whole has one such state.
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
    if endpoints := {value.id.endpoint for value in node.values.values()} - {0}:
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
        line["writeable"] = True
        if value.minimum is not None:
            line["min"] = value.minimum
        if value.maximum is not None:
            line["max"] = value.maximum
        if value.states:
            line["choices"] = list(value.states.values())
    return line


def _find_only(node: Node, classes: AbstractSet[int], name: str) -> Json:
    values = node.values.values()
    found = [value.value for value in values if value.id.command_class in classes and value.id.property == name]
    return found[0] if len(found) == 1 else None
