"""One house: its network, the way to it, and commands, which count only when the device itself reports the change."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, replace
from zwave_mcp.address import Address
from zwave_mcp.backends.backend import Backend, SetOutcome
from zwave_mcp.backends.mqtt import MqttBackend
from zwave_mcp.backends.websocket import WebSocketBackend
from zwave_mcp.devices import find_device
from zwave_mcp.errors import CommandFailedError, NoAnswerError, NotConfirmedError, RefusedError, UnreachableError
from zwave_mcp.network import Network
from zwave_mcp.nodes import Node, Status, Value, ValueId

log = logging.getLogger(__name__)
CONFIRM_WITHIN = 8.0  # seconds after the driver has accepted a command
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


@dataclass(frozen=True, slots=True)
class Command:
    """Set `target` to `value`; done when `current` has a value that `fits`. `transition` is in seconds."""

    target: Value
    value: Json
    current: ValueId
    fits: Callable[[Json], bool]
    transition: float | None = None


def check_reachable(node: Node) -> None:
    """Refuse to talk to a device that cannot hear; raises UnreachableError."""
    if node.status in (Status.DEAD, Status.ASLEEP) or not node.ready:
        seen = node.last_seen.isoformat(timespec="seconds") if node.last_seen else None
        raise UnreachableError(node.title, node.status, ready=node.ready, last_seen=seen)


class House:
    """Sends commands, one after the other for each device, and waits until the device confirms them.

    The driver takes a command that was delivered for one that was carried out, and reports the new value by itself. So
    the device is asked, over the radio, what the value is now; only its own answer counts.
    """

    def __init__(self, network: Network, backend: Backend, confirm_within: float) -> None:
        self.network = network
        self.backend = backend
        self._confirm_within = confirm_within
        self._turns: dict[int, anyio.Lock] = {}

    async def find(self, device: str | int) -> Node:
        """Find a device by name; raises the errors of a connection and of names."""
        await self.network.require_connection()
        return find_device(device, self.network.devices())

    async def carry_out(self, device: str | int, build: Callable[[Node], Command]) -> tuple[Node, Value, Value]:
        """Have a device do something, or raise why not; return it, the value that it reports then, and the one set."""
        found = await self.find(device)
        command = build(found)
        async with self._turns.setdefault(found.id, anyio.Lock()):
            await self.network.require_connection()
            node = self.network.nodes.get(found.id, found)  # it may have been replaced while this waited
            check_reachable(node)
            log.debug("node %s: set %s to %r", node.id, command.target.name, command.value)
            try:
                outcome = await self.backend.set_value(command.target.id, command.value, transition=command.transition)
            except RefusedError as error:
                raise CommandFailedError(node.title, error.message or error.code) from error
            if outcome.refusal:
                raise CommandFailedError(node.title, outcome.refusal)
            return found, await self._confirm(node, command, outcome), command.target

    async def _confirm(self, node: Node, command: Command, outcome: SetOutcome) -> Value:
        limit = self._confirm_within + max(command.transition or 0.0, outcome.remaining)
        deadline = time.monotonic() + limit
        pause = _FIRST_PAUSE
        known = self.network.find_value(command.current)
        heard, last = False, known.value if known else None
        while (left := deadline - time.monotonic()) > 0:
            try:
                with anyio.fail_after(left):
                    last = await self.backend.poll_value(command.current)
                heard = True
            except (RefusedError, NoAnswerError, TimeoutError) as error:
                log.debug("node %s does not tell its value: %r", node.id, error)
            if heard and command.fits(last):
                known = self.network.find_value(command.current)
                if known is not None and known.value == last:
                    return known
                return replace(known or Value(command.current), value=last, updated=datetime.now(UTC))  # heard just now
            await self.network.wait_for_news(command.current, min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 2, _LONGEST_PAUSE)
        raise NotConfirmedError(node.title, wanted=command.value, last=last, heard=heard, seconds=limit)

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
        yield House(network, backend, confirm_within)
        tasks.cancel_scope.cancel()
