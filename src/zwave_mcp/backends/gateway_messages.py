"""Messages of zwave-js-ui, checked and turned into our model; what is not needed is left unread."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from mcp_core.json_types import Json
from zwave_mcp.backends.messages import AnyJson, JsonParts, Message, Metadata, NamedValue, read_each, read_json
from zwave_mcp.network import Controller
from zwave_mcp.nodes import CommandClass, Node, Status, Value, read_milliseconds, state_key

_STATUSES = {status.value: status for status in Status}


class State(Message):
    text: str = ""
    value: AnyJson = None


class GatewayValue(NamedValue, Metadata):
    node_id: int
    states: list[State] | None = None
    last_update: float | None = None

    def to_value(self) -> Value:
        return self.build_value(
            self.node_id,
            self,
            states={state_key(state.value): state.text for state in self.states or ()},
            secret=self.command_class == CommandClass.USER_CODE,  # the gateway does not say which values are secret
            updated=read_milliseconds(self.last_update),
        )


class GatewayNode(Message):
    id: int
    name: str | None = None
    loc: str | None = None
    status: str | None = None
    ready: bool = False
    interview_stage: str | None = None
    is_controller_node: bool = False
    virtual: bool = False
    kind: str | None = None
    manufacturer: str | None = None
    product_label: str | None = None
    product_description: str | None = None
    last_active: float | None = None
    statistics: JsonParts | None = None
    values: JsonParts | None = None  # not in what the gateway publishes of its own accord

    def to_node(self) -> Node:
        node = Node(
            self.id,
            name=(self.name or "").strip(),
            location=(self.loc or "").strip(),
            status=read_status(self.status),
            ready=self.ready,
            interview=self.interview_stage or "",
            controller=self.is_controller_node,
            virtual=self.virtual or self.kind not in (None, "physical"),
            product=" ".join(filter(None, (self.manufacturer, self.product_label, self.product_description))),
            last_seen=read_milliseconds(self.last_active),
            statistics=self.statistics or {},
        )
        read = [value.to_value() for value in read_each(GatewayValue, (self.values or {}).values())]
        node.values = {value.id: value for value in read}
        return node


class DriverInfo(Message):
    homeid: int | None = None
    controller_id: int | None = None
    app_version: str | None = None
    zwave_version: str | None = None
    cnt_status: str | None = None
    error: str | None = None

    def to_controller(self, nodes: Mapping[int, Node]) -> Controller:
        own = nodes.get(self.controller_id or 0)
        return Controller(
            ready=True,
            home_id="" if self.homeid is None else f"0x{self.homeid:08x}",
            node=self.controller_id,
            status=self.error or self.cnt_status or "unknown",
            driver=f"zwave-js {self.zwave_version or ''}".strip(),
            all_nodes_ready=all(node.ready for node in nodes.values() if node.is_device),
            statistics=own.statistics if own else {},
        )


class Reply(Message):
    success: bool
    message: str = ""
    result: AnyJson = None
    args: list[AnyJson] | None = None
    origin: AnyJson = None  # the request as it came in


class NodeStatus(Message):
    status: str | None = None
    node_id: int | None = None
    value: AnyJson = None


class Report(NamedTuple):
    value: Json
    updated: datetime | None
    described: Value | None = None  # where the gateway publishes values with everything about them


def read_report(payload: bytes) -> Report | None:
    """Read what stands at the topic of a value, in each form a gateway can be set to; raises ValueError."""
    if not payload:
        return None  # a retained message was deleted
    data = read_json(payload)
    if isinstance(data, dict) and {"nodeId", "commandClass", "property"} <= data.keys():
        described = GatewayValue.model_validate(data).to_value()
        return Report(described.value, described.updated, described)
    if isinstance(data, dict) and "value" in data and data.keys() <= {"time", "value", "nodeName", "nodeLocation"}:
        return Report(data["value"], read_milliseconds(data.get("time")))
    return Report(data, None)


def read_flag(payload: bytes) -> bool:
    """Read yes or no, as it is or as the value of an object; raises ValueError."""
    data = read_json(payload)
    return (data.get("value") if isinstance(data, dict) else data) is True


def read_status(word: str | None) -> Status:
    return _STATUSES.get((word or "").lower(), Status.UNKNOWN)
