"""The interface of a way to reach a Z-Wave network, and what both ways share: connections kept, requests awaited."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import anyio

from mcp_core.backoff import wait_after
from mcp_core.json_types import Json, JsonObject
from zwave_mcp.address import Address
from zwave_mcp.errors import ConnectionLostError, LinkError, NoAnswerError
from zwave_mcp.network import Network
from zwave_mcp.nodes import ValueId

ANSWER_WITHIN = 20.0  # seconds: a driver tries a silent device several times before it gives up
log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0  # seconds
_ACCEPTED = (1, 254, 255)  # the driver's verdict on a command: the device works on it, was told, has done it
_REFUSALS = {
    0: "the device does not support it",
    2: "the device, or the driver for it, reported a failure",
    3: "the device has no such endpoint",
    4: "the driver does not know how to set it",
    5: "the driver does not accept the value",
}


class SetOutcome(NamedTuple):
    refusal: str = ""  # why the command was refused, if it was
    remaining: float = 0.0  # seconds that the device says it still needs


class Backend(ABC):
    """Keeps a network's model up to date and carries commands; each request raises the errors of a connection."""

    def __init__(self, network: Network, address: Address) -> None:
        self._network = network
        self._address = address
        self._pending = Pending()

    async def run(self) -> None:
        """Connect, feed the model, and connect again after each end, until cancelled."""
        failures = 0
        while True:
            try:
                await self._connect_once()
                reason = "the server closed the connection"
            except LinkError as error:
                reason = error.reason
            failures = 1 if self._network.link.state == "connected" else failures + 1
            self._network.disconnected(reason)
            log.warning("not connected to %s: %s", self._network.address, reason)
            # Several clients that lost one server should not all come back in the same moment.
            await anyio.sleep(wait_after(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=0.25))

    @abstractmethod
    async def _connect_once(self) -> None:
        """Stay connected until the connection ends; raises LinkError."""

    @abstractmethod
    async def set_value(self, value_id: ValueId, value: Json, *, transition: float | None) -> SetOutcome:
        """Send a command to a device; `transition` is how many seconds the change should take."""

    @abstractmethod
    async def poll_value(self, value_id: ValueId) -> Json:
        """Ask the device itself, over the radio."""

    @abstractmethod
    async def refresh(self, node: int) -> None:
        """Ask the device for all its values, over the radio."""

    @abstractmethod
    async def ping(self, node: int) -> bool:
        """True if the device answers."""

    async def read_times(self, ids: Iterable[ValueId]) -> Mapping[ValueId, datetime]:
        """Return when the driver last heard these values, as far as it can tell; by default, values come with it."""
        return {}


def read_outcome(answer: object) -> SetOutcome:
    """Read what a driver answers to a command: an object with its status, or yes and no from old ones."""
    if isinstance(answer, bool):
        return SetOutcome("" if answer else _REFUSALS[2])
    if not isinstance(answer, Mapping):
        return SetOutcome("the answer has no status")
    status = answer.get("status")
    if status in _ACCEPTED:
        return SetOutcome(remaining=read_duration(answer.get("remainingDuration")))
    if not isinstance(status, int) or status not in _REFUSALS:
        return SetOutcome(f"unknown status {status!r}")
    return SetOutcome(str(answer.get("message") or _REFUSALS[status]))


def read_duration(duration: object) -> float:
    """Read a driver's duration in seconds; one that is unknown counts as none."""
    if not isinstance(duration, Mapping):
        return 0.0
    value, unit = duration.get("value"), duration.get("unit")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 10_000:
        return 0.0
    return float(value) * (60 if unit == "minutes" else 1)


def write_value_id(value_id: ValueId) -> JsonObject:
    """Write which value of a node is meant, as the driver reads it."""
    _, command_class, endpoint, name, key = value_id
    value: JsonObject = {"commandClass": command_class, "endpoint": endpoint, "property": name}
    return value if key is None else {**value, "propertyKey": key}


def write_duration(seconds: float) -> str:
    """Write a duration as the driver reads it: whole seconds up to 127, whole minutes beyond."""
    return f"{round(seconds)}s" if round(seconds) <= 127 else f"{round(seconds / 60)}m"


def word_os_error(error: OSError) -> str:
    """Say why a host cannot be reached, in the system's words and without the address."""
    if isinstance(error, socket.gaierror):
        return "unknown host name"
    if isinstance(error, ssl.SSLError):
        return f"no trusted TLS connection ({error.reason or 'TLS'})"
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return "it cannot be reached"


class Pending:
    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, asyncio.Future[Json]]] = {}
        self._last = 0

    def open(self, request: str) -> str:
        """Begin to wait for the answer to a request, which is named for people; returns the id to send with it."""
        self._last += 1
        self._waiting[str(self._last)] = (request, asyncio.get_running_loop().create_future())
        return str(self._last)

    async def wait(self, key: str, seconds: float) -> Json:
        """Wait for the answer; raises ConnectionLostError, NoAnswerError, and what `settle` was given."""
        request, future = self._waiting[key]
        try:
            with anyio.fail_after(seconds):
                return await future
        except TimeoutError:
            raise NoAnswerError(request, seconds) from None
        finally:
            del self._waiting[key]

    def settle(self, key: object, answer: Json | Exception) -> bool:
        """Deliver an answer, or the error that ends the request; False if it is not awaited."""
        waiting = self._waiting.get(key) if isinstance(key, str) else None
        if waiting and not waiting[1].done():
            if isinstance(answer, Exception):
                waiting[1].set_exception(answer)
            else:
                waiting[1].set_result(answer)
        return waiting is not None

    def name_of(self, key: object) -> str:
        """Return what was asked for under this id."""
        return self._waiting[key][0] if isinstance(key, str) and key in self._waiting else ""

    def fail_all(self) -> None:
        for request, future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(ConnectionLostError(request))
