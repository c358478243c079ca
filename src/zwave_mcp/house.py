"""One house: its network, the way to it, and the commands that can be given; built and closed in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from mcp_core.quick_dataclass import dataclass, replace
from zwave_mcp.address import Address
from zwave_mcp.backends.backend import Backend
from zwave_mcp.backends.mqtt import MqttBackend
from zwave_mcp.backends.websocket import WebSocketBackend
from zwave_mcp.commands import CONFIRM_WITHIN, Command, Commander
from zwave_mcp.devices import find_device
from zwave_mcp.network import Network
from zwave_mcp.nodes import Node, Value


@dataclass(frozen=True, slots=True)
class House:
    """Everything that the tools work with."""

    network: Network
    backend: Backend
    commander: Commander

    async def find(self, device: str | int) -> Node:
        """Find a device by name; raises the errors of a connection and of names."""
        await self.network.require_connection()
        return find_device(device, self.network.devices())

    async def carry_out(self, device: str | int, build: Callable[[Node], Command]) -> tuple[Node, Value, Value]:
        """Have a device do something; return it, the value that it reports then, and the one that was set."""
        node = await self.find(device)
        command = build(node)
        return node, await self.commander.carry_out(node, command), command.target

    async def date(self, values: list[Value]) -> list[Value]:
        """Add the time of the last real update to values that lack it; it stays None if unknown."""
        undated = [value.id for value in values if value.updated is None and value.value is not None]
        times = await self.backend.read_times(undated) if undated else {}
        return [replace(value, updated=value.updated or times.get(value.id)) for value in values]


@asynccontextmanager
async def open_house(address: Address, *, confirm_within: float = CONFIRM_WITHIN) -> AsyncIterator[House]:
    """Begin to connect in the background, without waiting for it; the connection ends with the block."""
    network = Network(address.kind, address.shown)
    backend: Backend = MqttBackend(network, address) if address.kind == "mqtt" else WebSocketBackend(network, address)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(backend.run)
        yield House(network, backend, Commander(network, backend, confirm_within=confirm_within))
        tasks.cancel_scope.cancel()
