"""Topics of zwave-js-ui on MQTT: which message stands where, in each of its ways to name values, and its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from mcp_core.quick_dataclass import dataclass, field, replace
from zwave_mcp.backends.gateway_messages import GatewayNode, NodeStatus, read_report, read_status
from zwave_mcp.backends.messages import read_json
from zwave_mcp.network import Network
from zwave_mcp.nodes import Node, Value, ValueId, read_milliseconds

GATEWAY = "ZWAVE_GATEWAY-"
_REMOVED = re.compile(r"[^A-Za-z0-9\-_À-ÖØ-öø-ÿ/]")
# How topics with names write a command class, where it matters here.
_CLASS_NAMES = {
    0x20: "basic",
    0x25: "switch_binary",
    0x26: "switch_multilevel",
    0x30: "sensor_binary",
    0x31: "sensor_multilevel",
    0x32: "meter",
    0x33: "color",
    0x40: "thermostat_mode",
    0x42: "thermostat_operating_state",
    0x43: "thermostat_setpoint",
    0x44: "thermostat_fan_mode",
    0x45: "thermostat_fan_state",
    0x5B: "central_scene",
    0x62: "door_lock",
    0x63: "user_code",
    0x66: "barrier_operator",
    0x70: "configuration",
    0x71: "notification",
    0x72: "manufacturer_specific",
    0x75: "protection",
    0x76: "lock",
    0x77: "node_naming",
    0x79: "sound_switch",
    0x80: "battery",
    0x81: "clock",
    0x84: "wake_up",
    0x86: "version",
    0x87: "indicator",
    0x90: "energy_production",
}


class Topic(NamedTuple):
    kind: Literal["gateway", "reply", "driver", "device"]
    about: str  # the API of a reply, or what follows the prefix
    gateway: str = ""


def parse_topic(topic: str, prefix: str) -> Topic | None:
    """Read a topic; return None for one that does not matter, such as the commands of others."""
    if not topic.startswith(f"{prefix}/"):
        return None
    path = topic[len(prefix) + 1 :]
    match path.split("/"):
        case ["_EVENTS", *_] | [*_, "set"]:
            return None
        case ["_CLIENTS", client, about] if client.startswith(GATEWAY):
            return Topic("gateway", about, client.removeprefix(GATEWAY))
        case ["_CLIENTS", client, "api", api] if client.startswith(GATEWAY):
            return Topic("reply", api, client.removeprefix(GATEWAY))
        case ["_CLIENTS", *_]:
            return None
        case ["driver", "status"]:
            return Topic("driver", path)
    return Topic("device", path)


def request_topic(prefix: str, gateway: str, api: str) -> str:
    return f"{prefix}/_CLIENTS/{GATEWAY}{gateway}/api/{api}/set"


def clean(part: str) -> str:
    """Write a name as it stands in topics: without most characters, spaces as underlines, and slashes left alone."""
    return _REMOVED.sub("", re.sub(r"\s", "_", part))


@dataclass(slots=True)
class TopicIndex:
    """The nodes and values of a network by their topics; a topic that several share leads to none of them."""

    _nodes: dict[str, set[int]] = field(default_factory=dict)
    _values: dict[int, dict[str, ValueId]] = field(default_factory=dict)

    @classmethod
    def build(cls, nodes: Iterable[Node]) -> TopicIndex:
        index = cls()
        for node in nodes:
            for path in node_paths(node):
                index._nodes.setdefault(path, set()).add(node.id)
            index._values[node.id] = {tail: value.id for value in node.values.values() for tail in value_tails(value)}
        return index

    def find_value(self, path: str) -> ValueId | None:
        found = {
            self._values[node][tail]
            for slash in re.finditer("/", path)
            for head, tail in [(path[: slash.start()], path[slash.end() :])]
            for node in self._nodes.get(head, ())
            if tail in self._values[node]
        }
        return found.pop() if len(found) == 1 else None

    def find_node(self, path: str) -> int | None:
        """Find the node that something like …/status is about."""
        nodes = self._nodes.get(path.rpartition("/")[0], set())
        return next(iter(nodes)) if len(nodes) == 1 else None


def node_paths(node: Node) -> set[str]:
    """List the ways in which a gateway may write a node: with or without its place, by name or number."""
    names = {clean(node.name) if node.name else f"nodeID_{node.id}", str(node.id)}
    places = {"", f"{clean(node.location)}/" if node.location else ""}
    return {f"{place}{name}" for place in places for name in names}


def value_tails(value: Value) -> Iterator[str]:
    """List what follows the node for a value, in topics with names and in topics with numbers."""
    id_ = value.id
    class_name = _CLASS_NAMES.get(id_.command_class, f"unknownClass_{id_.command_class}")
    key = () if id_.key is None else (_without_slash(id_.key),)
    named = (class_name, f"endpoint_{id_.endpoint}", _without_slash(value.property_name or id_.property), *key)
    numbered = (str(id_.command_class), str(id_.endpoint), _without_slash(id_.property), *key)
    for parts in (named, numbered):
        yield "/".join(map(clean, parts))


def _without_slash(part: str | int) -> str:
    return str(part).replace("/", "-")


def apply_report(network: Network, index: TopicIndex, path: str, payload: bytes, *, retained: bool) -> bool:
    """Put one message into the model; False if it is about something unknown, so that all must be looked at.

    What the broker has kept from before is older than what the gateway told since, unless its time says otherwise.
    Raises ValueError for a message that cannot be read.
    """
    if network.link.state != "connected" or not payload:
        return True  # everything is looked at when the connection stands
    if path.rpartition("/")[2] in ("status", "lastActive", "nodeinfo"):
        return retained or _apply_to_node(network, index, path, payload)
    report = read_report(payload)
    if report is None:
        return True
    id_ = report.described.id if report.described else index.find_value(path)
    if id_ is None:
        return retained
    known = network.find_value(id_)
    if known and known.updated and retained and (report.updated is None or report.updated <= known.updated):
        return True
    if known is None and report.described is not None:
        network.put_value(report.described)
    else:
        network.update_value(id_, report.value, report.updated)
    return True


def _apply_to_node(network: Network, index: TopicIndex, path: str, payload: bytes) -> bool:
    about = path.rpartition("/")[2]
    data = read_json(payload)
    if about == "nodeinfo":
        described = GatewayNode.model_validate(data)
        known = network.nodes.get(described.id)
        if known is None or (known.name, known.location) != (described.name or "", described.loc or ""):
            return False  # a new name changes its topics
        network.put_node(replace(described.to_node(), values=known.values, controller=known.controller))
        return True
    status = NodeStatus.model_validate(data) if isinstance(data, dict) else NodeStatus(value=data)
    node = network.nodes.get(status.node_id or index.find_node(path) or 0)
    if node is None:
        return False
    if about == "lastActive":
        node.last_seen = read_milliseconds(status.value) or node.last_seen
        return True
    if status.status is not None:
        network.put_status(node, read_status(status.status))
        return True
    return False  # only yes or no: asleep or dead must be asked for
