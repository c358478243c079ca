"""The Z-Wave network as it is known here: one model that every backend feeds and every tool reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

import anyio

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field, replace
from zwave_mcp.errors import DriverNotReadyError, NotConnectedError
from zwave_mcp.nodes import CommandClass, Node, Status, Value, ValueId

_PATIENCE = 5.0  # seconds


class Link(NamedTuple):
    state: Literal["connecting", "connected", "disconnected"]  # for the first time; standing; lost and tried again
    since: datetime
    problem: str = ""  # why there is none
    attempts: int = 0  # in vain since it last stood
    facts: Mapping[str, Json] = MappingProxyType({})  # what the server told about itself


@dataclass(slots=True)
class Controller:
    ready: bool = False
    home_id: str = ""
    node: int | None = None
    status: str = "unknown"
    driver: str = ""
    all_nodes_ready: bool | None = None
    statistics: Mapping[str, Json] = field(default_factory=dict)


class Network:
    """Nodes, values and the state of the connection; `address` is shown to people and has no password in it."""

    def __init__(self, backend: str, address: str) -> None:
        self.backend = backend
        self.address = address
        self.nodes: dict[int, Node] = {}
        self.controller = Controller()
        self.link = Link("connecting", datetime.now(UTC))
        self._first_attempt = anyio.Event()
        self._waiting: dict[ValueId, set[anyio.Event]] = {}
        self._statuses_changed = anyio.Event()

    # What backends tell.

    def connected(self, nodes: Iterable[Node], controller: Controller, facts: Mapping[str, Json]) -> None:
        """Take over everything that the server knows; what was known before is forgotten."""
        self.nodes = {node.id: node for node in nodes}
        self.controller = controller
        since = self.link.since if self.link.state == "connected" else datetime.now(UTC)
        self.link = Link("connected", since, facts=dict(facts))
        self._first_attempt.set()

    def disconnected(self, problem: str) -> None:
        since = self.link.since if self.link.state == "disconnected" else datetime.now(UTC)
        self.link = Link("disconnected", since, problem, self.link.attempts + 1)
        self.controller.ready = False
        self._first_attempt.set()

    def put_node(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.put_status(node, node.status)

    def put_status(self, node: Node, status: Status) -> None:
        node.status = status
        self._statuses_changed.set()
        self._statuses_changed = anyio.Event()

    def put_value(self, value: Value) -> None:
        node = self.nodes.get(value.id.node)
        if node is not None:
            node.values[value.id] = value
            # A device may carry its name; the driver tells of a change as of any other value.
            if value.id.command_class == CommandClass.NODE_NAMING and isinstance(value.value, str):
                if value.id.property == "name":
                    node.name = value.value
                elif value.id.property == "location":
                    node.location = value.value
            self._wake(value.id)

    def update_value(self, value_id: ValueId, value: Json, updated: datetime | None) -> None:
        """Note that a value has changed, or was heard again; what else is known about it stays."""
        node = self.nodes.get(value_id.node)
        if node is not None:
            self.put_value(replace(node.values.get(value_id) or Value(value_id), value=value, updated=updated))

    def remove_value(self, value_id: ValueId) -> None:
        node = self.nodes.get(value_id.node)
        if node is not None:
            node.values.pop(value_id, None)
            self._wake(value_id)

    # What tools ask.

    async def finish_first_attempt(self) -> None:
        """Wait a little for the first attempt to connect: whoever starts this program asks it something at once."""
        with anyio.move_on_after(_PATIENCE):
            await self._first_attempt.wait()

    async def require_connection(self) -> None:
        """Raises NotConnectedError, DriverNotReadyError."""
        await self.finish_first_attempt()
        if self.link.state != "connected":
            raise NotConnectedError(self.address, self.link.problem or "still connecting for the first time")
        if not self.controller.ready:
            raise DriverNotReadyError

    def devices(self) -> list[Node]:
        """List the things in the house, in the order of their numbers."""
        return [self.nodes[id_] for id_ in sorted(self.nodes) if self.nodes[id_].is_device]

    def find_value(self, value_id: ValueId) -> Value | None:
        node = self.nodes.get(value_id.node)
        return node.values.get(value_id) if node else None

    async def wait_for_news(self, value_id: ValueId, seconds: float) -> None:
        """Wait until the value is heard of again, at most so long."""
        news = anyio.Event()
        self._waiting.setdefault(value_id, set()).add(news)
        try:
            with anyio.move_on_after(seconds):
                await news.wait()
        finally:
            self._waiting[value_id].discard(news)
            if not self._waiting[value_id]:
                del self._waiting[value_id]

    async def wait_for_status(self, node: int, fits: Callable[[Status], bool], seconds: float) -> None:
        """Wait until a node is in a state that fits, at most so long."""
        with anyio.move_on_after(seconds):
            while node in self.nodes and not fits(self.nodes[node].status):
                await self._statuses_changed.wait()

    def _wake(self, value_id: ValueId) -> None:
        for news in self._waiting.get(value_id, ()):
            news.set()
