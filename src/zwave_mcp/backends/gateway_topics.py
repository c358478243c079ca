"""Topics of zwave-js-ui about nodes and values, put into the model."""

from __future__ import annotations

from mcp_core.quick_dataclass import replace
from zwave_mcp.backends.gateway_messages import GatewayNode, NodeStatus, Report, read_report, read_status
from zwave_mcp.backends.messages import read_json
from zwave_mcp.backends.topics import TopicIndex
from zwave_mcp.network import LinkState, Network
from zwave_mcp.values import ValueId, read_milliseconds

_ABOUT_NODES = ("status", "lastActive", "nodeinfo")


def apply_report(network: Network, index: TopicIndex, path: str, payload: bytes, *, retained: bool) -> bool:
    """Put one message into the model; False if it is about something unknown, so that all must be looked at.

    What the broker has kept from before is older than what the gateway told since, unless its time says otherwise.
    Raises ValueError for a message that cannot be read.
    """
    if network.link.state is not LinkState.CONNECTED or not payload:
        return True  # everything is looked at when the connection stands
    if path.rpartition("/")[2] in _ABOUT_NODES:
        return retained or _apply_to_node(network, index, path, payload)
    report = read_report(payload)
    if report is None:
        return True
    id_ = report.described.id if report.described else index.find_value(path)
    if id_ is None:
        return retained
    _apply_to_value(network, id_, report, retained=retained)
    return True


def _apply_to_value(network: Network, value_id: ValueId, report: Report, *, retained: bool) -> None:
    known = network.find_value(value_id)
    if known and known.updated and retained and (report.updated is None or report.updated <= known.updated):
        return
    if known is None and report.described is not None:
        network.put_value(report.described)
    else:
        network.update_value(value_id, report.value, report.updated)


def _apply_to_node(network: Network, index: TopicIndex, path: str, payload: bytes) -> bool:
    about = path.rpartition("/")[2]
    data = read_json(payload)
    if about == "nodeinfo":
        return _describe_node(network, GatewayNode.model_validate(data))
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


def _describe_node(network: Network, described: GatewayNode) -> bool:
    known = network.nodes.get(described.id)
    if known is None or (known.name, known.location) != (described.name or "", described.loc or ""):
        return False  # a new name changes its topics
    network.put_node(replace(described.to_node(), values=known.values, controller=known.controller))
    return True
