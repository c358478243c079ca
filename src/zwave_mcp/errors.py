"""Everything that can go wrong with a Z-Wave network, as facts; `reporting.py` has the sentences.

ZwaveError
├── NotConnectedError        there is no connection to the Z-Wave server now
├── ConnectionLostError      it broke before an answer came: what was asked may have happened
├── NoAnswerError            it stands, and no answer came in time
├── DriverNotReadyError      connected, but the driver of the controller is not ready
├── RefusedError             the Z-Wave server said no
├── UnknownDeviceError       no device has this name
├── AmbiguousDeviceError     several have it
├── UnableError              the device cannot do this
├── EndpointError            the device has several such parts, or not this one
├── BadSettingError          a value that the device does not accept
├── UnreachableError         the device is dead, asleep, or not yet interviewed
├── CommandFailedError       the device, or the driver for it, refused the command
└── NotConfirmedError        the command went out, and the device does not report the new value

LinkError                    why a connection could not be made or kept; told as part of NotConnectedError
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_core.json_types import Json
from zwave_mcp.nodes import Status


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device that somebody may have meant."""

    node: int
    name: str
    location: str
    abilities: tuple[str, ...] = ()


class ZwaveError(Exception):
    """Base of all errors that a caller is told about."""


class LinkError(Exception):
    """`reason` is a clause such as "connection refused"; never with a password in it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotConnectedError(ZwaveError):
    def __init__(self, address: str, problem: str) -> None:
        super().__init__(address, problem)
        self.address = address
        self.problem = problem


class ConnectionLostError(ZwaveError):
    def __init__(self, request: str) -> None:
        super().__init__(request)
        self.request = request


class NoAnswerError(ZwaveError):
    def __init__(self, request: str, seconds: float) -> None:
        super().__init__(request, seconds)
        self.request = request
        self.seconds = seconds


class DriverNotReadyError(ZwaveError):
    """The Z-Wave server runs; its driver, or the stick below it, does not yet."""


class RefusedError(ZwaveError):
    """`code` is the server's own word for the mistake, such as node_not_found."""

    def __init__(self, request: str, code: str, message: str) -> None:
        super().__init__(request, code, message)
        self.request = request
        self.code = code
        self.message = message


class UnknownDeviceError(ZwaveError):
    """`nearest` are devices that exist, the most similar first."""

    def __init__(self, wanted: str, *, nearest: Sequence[Candidate], total: int) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.nearest = tuple(nearest)
        self.total = total


class AmbiguousDeviceError(ZwaveError):
    def __init__(self, wanted: str, candidates: Sequence[Candidate]) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.candidates = tuple(candidates)


class UnableError(ZwaveError):
    """`wish` completes "cannot be …"; `abilities` say what the device is."""

    def __init__(self, device: str, wish: str, abilities: Sequence[str]) -> None:
        super().__init__(device, wish)
        self.device = device
        self.wish = wish
        self.abilities = tuple(abilities)


class EndpointError(ZwaveError):
    """`endpoint` is the one that was asked for, None where one must be chosen of `available`."""

    def __init__(self, device: str, wish: str, *, endpoint: int | None, available: Sequence[int]) -> None:
        super().__init__(device, endpoint)
        self.device = device
        self.wish = wish
        self.endpoint = endpoint
        self.available = tuple(available)


class BadSettingError(ZwaveError):
    """`expected` says what the device accepts, such as "5 to 30 °C"."""

    def __init__(self, device: str, given: str, expected: str) -> None:
        super().__init__(device, given, expected)
        self.device = device
        self.given = given
        self.expected = expected


class UnreachableError(ZwaveError):
    """`last_seen` is a time in ISO form."""

    def __init__(self, device: str, status: Status, *, ready: bool, last_seen: str | None) -> None:
        super().__init__(device, status)
        self.device = device
        self.status = status
        self.ready = ready
        self.last_seen = last_seen


class CommandFailedError(ZwaveError):
    def __init__(self, device: str, reason: str) -> None:
        super().__init__(device, reason)
        self.device = device
        self.reason = reason


class NotConfirmedError(ZwaveError):
    """`last` is the value that the device reported last, `heard` whether it answered at all after the command."""

    def __init__(self, device: str, *, wanted: Json, last: Json, heard: bool, seconds: float) -> None:
        super().__init__(device, wanted, last)
        self.device = device
        self.wanted = wanted
        self.last = last
        self.heard = heard
        self.seconds = seconds
