"""Events of a network, as zwave-js-server tells them, put into the model."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import replace
from zwave_mcp.backends.server_messages import STATUS_EVENTS, Event, ValueState, word_controller_status
from zwave_mcp.errors import LinkError
from zwave_mcp.network import Network
from zwave_mcp.nodes import Node
from zwave_mcp.values import read_iso

log = logging.getLogger(__name__)


def apply_event(network: Network, event: Event) -> None:
    """Put one event into the model; raises ValueError if it cannot be read, LinkError if all must be read again."""
    match event.source:
        case "node":
            _apply_to_node(network, event)
        case "controller":
            _apply_to_controller(network, event)
        case "driver":
            _apply_to_driver(network, event)


def _apply_to_driver(network: Network, event: Event) -> None:
    if event.event == "driver ready":
        raise LinkError("the driver has restarted")  # everything known is void: begin again
    if event.event == "all nodes ready":
        network.controller.all_nodes_ready = True


def _apply_to_controller(network: Network, event: Event) -> None:
    match event.event:
        case "node added" | "node found" if event.node is not None:
            network.put_node(event.node.to_node(network.controller.node))
        case "node removed" if event.node is not None:
            network.remove_node(event.node.node_id)
        case "statistics updated" if event.statistics is not None:
            network.controller.statistics = event.statistics
        case "status changed":
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
            _update_metadata(network, node, event.args)
        case "statistics updated" if event.statistics is not None:
            node.statistics = event.statistics
            node.last_seen = read_iso(event.statistics.get("lastSeen")) or node.last_seen
        case "interview started":
            node.ready = False
        case "interview stage completed":
            node.interview = event.stage_name or node.interview


def _update_metadata(network: Network, node: Node, args: Json) -> None:
    """Take over metadata, which may come before the value that it describes."""
    state = ValueState.model_validate(args)
    known = node.values.get(state.id_in(node.id))
    fresh = state.to_value(node.id)
    network.put_value(fresh if known is None else replace(fresh, value=known.value, updated=known.updated))
