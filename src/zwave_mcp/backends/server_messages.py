"""Messages and events of zwave-js-server, checked and put into our model; what is not needed is left unread."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from mcp_core.quick_dataclass import replace
from zwave_mcp.backends.messages import AnyJson, JsonParts, Message, Metadata, NamedValue, read_each
from zwave_mcp.errors import LinkError
from zwave_mcp.network import Controller, Network
from zwave_mcp.nodes import Node, Status, Value, read_iso

_STATUSES = {0: Status.UNKNOWN, 1: Status.ASLEEP, 2: Status.AWAKE, 3: Status.DEAD, 4: Status.ALIVE}
_CONTROLLER_STATUSES = {0: "ready", 1: "unresponsive", 2: "unable to transmit", 3: "jammed"}
STATUS_EVENTS = {"wake up": Status.AWAKE, "sleep": Status.ASLEEP, "dead": Status.DEAD, "alive": Status.ALIVE}
log = logging.getLogger(__name__)


class StateMetadata(Metadata):
    states: dict[str, str] | None = None
    secret: bool = False


class ValueState(NamedValue):
    endpoint: int = 0
    metadata: StateMetadata = Field(default_factory=StateMetadata)
    new_value: AnyJson = None

    def to_value(self, node: int) -> Value:
        return self.build_value(node, self.metadata, states=self.metadata.states or {}, secret=self.metadata.secret)


class DeviceConfig(Message):
    manufacturer: str | None = None
    label: str | None = None
    description: str | None = None


class NodeState(Message):
    node_id: int
    name: str | None = None
    location: str | None = None
    status: int = 0
    ready: bool = False
    interview_stage: str | int | None = None
    is_controller_node: bool = False
    device_config: DeviceConfig | None = None
    statistics: JsonParts = Field(default_factory=dict)
    last_seen: str | None = None
    values: list[AnyJson] | JsonParts = Field(default_factory=list)

    def to_node(self, controller: int | None) -> Node:
        values = self.values.values() if isinstance(self.values, dict) else self.values
        product = self.device_config or DeviceConfig()
        node = Node(
            self.node_id,
            name=(self.name or "").strip(),
            location=(self.location or "").strip(),
            status=_STATUSES.get(self.status, Status.UNKNOWN),
            ready=self.ready,
            interview=str(self.interview_stage or ""),
            controller=self.is_controller_node or self.node_id == controller,
            product=" ".join(filter(None, (product.manufacturer, product.label, product.description))),
            last_seen=read_iso(self.last_seen or self.statistics.get("lastSeen")),
            statistics=self.statistics,
        )
        read = [state.to_value(self.node_id) for state in read_each(ValueState, values)]
        node.values = {value.id: value for value in read}
        return node


class DriverState(Message):
    ready: bool = True  # servers that do not tell listen only when it is
    all_nodes_ready: bool | None = None


class ControllerState(Message):
    home_id: int | None = None
    own_node_id: int | None = None
    status: int | None = None
    statistics: JsonParts = Field(default_factory=dict)


class ServerState(Message):
    driver: DriverState = Field(default_factory=DriverState)
    controller: ControllerState = Field(default_factory=ControllerState)
    nodes: list[AnyJson] = Field(default_factory=list)

    def to_nodes(self) -> list[Node]:
        return [node.to_node(self.controller.own_node_id) for node in read_each(NodeState, self.nodes)]

    def to_controller(self, version: Version) -> Controller:
        own = self.controller
        return Controller(
            ready=self.driver.ready,
            home_id="" if own.home_id is None else f"0x{own.home_id:08x}",
            node=own.own_node_id,
            status=word_controller_status(own.status),
            driver=f"zwave-js {version.driver_version}".strip(),
            all_nodes_ready=self.driver.all_nodes_ready,
            statistics=own.statistics,
        )


class Version(Message):
    type: Literal["version"]
    driver_version: str = ""
    server_version: str = ""
    min_schema_version: int = 0
    max_schema_version: int = 0


class Event(Message):
    source: str
    event: str
    node_id: int | None = None
    args: AnyJson = None  # of many forms
    node_state: NodeState | None = None
    node: NodeState | None = None
    statistics: JsonParts | None = None
    status: AnyJson = None
    stage_name: str | None = None


def word_controller_status(status: object) -> str:
    """The state of the radio in a word; old servers do not tell it."""
    return _CONTROLLER_STATUSES.get(status, "unknown") if isinstance(status, int) else "unknown"


def apply_event(network: Network, event: Event) -> None:
    """Put one event into the model; raises ValueError if it cannot be read, LinkError if all must be read again."""
    match event.source, event.event:
        case "node", _:
            _apply_to_node(network, event)
        case "driver", "driver ready":
            raise LinkError("the driver has restarted")  # everything known is void: begin again
        case "driver", "all nodes ready":
            network.controller.all_nodes_ready = True
        case "controller", "node added" | "node found" if event.node is not None:
            network.put_node(event.node.to_node(network.controller.node))
        case "controller", "node removed" if event.node is not None:
            network.nodes.pop(event.node.node_id, None)
        case "controller", "statistics updated" if event.statistics is not None:
            network.controller.statistics = event.statistics
        case "controller", "status changed":
            network.controller.status = word_controller_status(event.status)


def _apply_to_node(network: Network, event: Event) -> None:
    if event.event == "ready" and event.node_state is not None:
        network.put_node(event.node_state.to_node(network.controller.node))
        return
    node = network.nodes.get(event.node_id or 0)
    if node is None:
        log.debug("an event of the unknown node %s: %s", event.node_id, event.event)
        return
    if event.event in STATUS_EVENTS:
        network.put_status(node, STATUS_EVENTS[event.event])
        return
    match event.event:
        case "value updated" | "value added":
            value = ValueState.model_validate(event.args)
            network.update_value(value.id_in(node.id), value.new_value, datetime.now(UTC))
        case "value removed":
            network.remove_value(ValueState.model_validate(event.args).id_in(node.id))
        case "metadata updated":
            state = ValueState.model_validate(event.args)  # which may come before the value that it describes
            known, fresh = node.values.get(state.id_in(node.id)), state.to_value(node.id)
            network.put_value(fresh if known is None else replace(fresh, value=known.value, updated=known.updated))
        case "statistics updated" if event.statistics is not None:
            node.statistics = event.statistics
            node.last_seen = read_iso(event.statistics.get("lastSeen")) or node.last_seen
        case "interview started":
            node.ready = False
        case "interview stage completed":
            node.interview = event.stage_name or node.interview
