"""Everything that can go wrong with a Z-Wave network, as facts; `answers.py` has the sentences."""

from __future__ import annotations

from typing import NamedTuple

from mcp_core.facts_error import FactsError
from mcp_core.json_types import Json
from zwave_mcp.nodes import Status


class Candidate(NamedTuple):
    node: int
    name: str
    location: str
    abilities: tuple[str, ...] = ()


class ZwaveError(FactsError):
    """Base of all errors that are reported to callers."""


class LinkError(FactsError):
    """Why there is no connection, told as part of NotConnectedError; a clause that never has a password in it."""

    reason: str


class NotConnectedError(ZwaveError):
    address: str
    problem: str


class ConnectionLostError(ZwaveError):
    """It broke before an answer came: what was asked may have happened."""

    request: str


class NoAnswerError(ZwaveError):
    request: str
    seconds: float


class DriverNotReadyError(ZwaveError):
    """The Z-Wave server runs; its driver, or the stick below it, does not yet."""


class RefusedError(ZwaveError):
    request: str
    code: str  # the server's own word for the mistake, such as node_not_found
    message: str


class UnknownDeviceError(ZwaveError):
    wanted: str
    nearest: tuple[Candidate, ...]  # devices that exist, the most similar first
    total: int


class AmbiguousDeviceError(ZwaveError):
    wanted: str
    candidates: tuple[Candidate, ...]


class UnableError(ZwaveError):
    device: str
    wish: str  # completes "cannot be …"
    abilities: tuple[str, ...]  # what the device is


class EndpointError(ZwaveError):
    device: str
    wish: str
    endpoint: int | None  # the one that was asked for, None where one must be chosen of `available`
    available: tuple[int, ...]


class BadSettingError(ZwaveError):
    device: str
    given: str
    expected: str  # what the device accepts, such as "5 to 30 °C"


class UnreachableError(ZwaveError):
    device: str
    status: Status
    ready: bool
    last_seen: str | None  # a time in ISO form


class CommandFailedError(ZwaveError):
    device: str
    reason: str


class NotConfirmedError(ZwaveError):
    device: str
    wanted: Json
    last: Json  # the value that the device reported last
    heard: bool  # whether it answered at all after the command
    seconds: float
