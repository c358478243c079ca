"""The state of the network in one look: the connection, the controller, and the devices that need attention."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import NotRequired

from typing_extensions import TypedDict

from zwave_mcp.network import Controller, LinkState, Network
from zwave_mcp.nodes import Node, Status


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
    """Describe the network as it is known now."""
    connection = _describe_connection(network)
    if network.link.state is not LinkState.CONNECTED:
        problem = network.link.problem or "still connecting for the first time"
        return {"healthy": False, "problems": [f"Not connected: {problem}."], "connection": connection}
    devices = network.devices()
    dead = [node for node in devices if node.status is Status.DEAD]
    not_ready = [node for node in devices if not node.ready and node.status is not Status.DEAD]
    problems = _list_problems(network, dead, not_ready)
    return {
        "healthy": not problems,
        "problems": problems,
        "connection": connection,
        "controller": _describe_controller(network.controller),
        "devices": {"total": len(devices), **Counter(node.status.value for node in devices)},
        "dead": [_describe_device(node) for node in dead],
        "asleep": [_describe_device(node) for node in devices if node.status is Status.ASLEEP],
        "not_ready": [_describe_device(node) for node in not_ready],
    }


def write_time(moment: datetime | None) -> str | None:
    """Write a time for people and programs alike."""
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _list_problems(network: Network, dead: list[Node], not_ready: list[Node]) -> list[str]:
    problems = []
    if not network.controller.ready:
        problems.append("The driver of the controller is not ready.")
    if network.controller.status in ("unresponsive", "jammed"):
        problems.append(f"The controller is {network.controller.status}.")
    if dead:
        problems.append(f"Dead: {', '.join(node.title for node in dead)}.")
    if not_ready:
        problems.append(f"Not yet interviewed: {', '.join(node.title for node in not_ready)}.")
    return problems


def _describe_connection(network: Network) -> Connection:
    link = network.link
    connection: Connection = {
        "backend": network.backend,
        "address": network.address,
        "state": link.state.value,
        "since": write_time(link.since),
    }
    if link.problem:
        connection["problem"] = link.problem
    if link.attempts:
        connection["failed_attempts"] = link.attempts
    if link.facts:
        connection["server"] = dict(link.facts)
    return connection


def _describe_controller(controller: Controller) -> Radio:
    return {
        "driver_ready": controller.ready,
        "driver": controller.driver,
        "status": controller.status,
        "home_id": controller.home_id,
        "all_nodes_ready": controller.all_nodes_ready,
        "statistics": dict(controller.statistics),
    }


def _describe_device(node: Node) -> Attention:
    line: Attention = {
        "node": node.id,
        "name": node.title,
        "location": node.location,
        "last_seen": write_time(node.last_seen),
    }
    if not node.ready and node.interview:
        line["interview"] = node.interview
    return line
