"""The two ways to reach a server, behind one protocol."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

import anyio
from mcp.client._transport import TransportStreams

from ot.proxy.failures import ConnectFailedError
from ot.proxy.plan import ConnectionPlan
from ot.proxy.transports.commands import build_command
from ot.proxy.transports.fast_lane import FastLane
from ot.proxy.transports.http import HttpTransport
from ot.proxy.transports.stdio import StdioTransport


class Transport(Protocol):
    """A way to reach a server: gives the streams when entered, and can say afterwards what happened."""

    ended: anyio.Event  # it has ended by itself
    forgotten: bool  # the server does not know our session any more

    @property
    def lane(self) -> FastLane | None:
        """A shorter way for calls, if there is one."""

    @property
    def ends(self) -> bool:
        """True if the end of the server is noticed at once; over HTTP only the next request notices it."""

    @property
    def given(self) -> int:
        """A mark behind what was sent so far."""

    @property
    def tail(self) -> str:
        """The last part of what the server wrote to stderr."""

    def took_after(self, given: int) -> bool:
        """True if the server may have seen what was sent after the mark."""

    def describe_end(self) -> str:
        """Say how it ended, as the rest of a sentence that begins "the server NAME"."""

    def describe_failure(self, cause: BaseException, message: str, *, connected: bool) -> str:
        """Say what went wrong, as the rest of a sentence that begins "the server NAME"."""

    def describe_silence(self) -> str:
        """Say what is known about a server that was not ready in time, to be appended to a sentence."""

    async def __aenter__(self) -> TransportStreams: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None: ...


def build_transport(plan: ConnectionPlan) -> Transport:
    """Build the transport that the settings ask for; raises ConnectFailedError."""
    if plan.settings.command is None:
        return HttpTransport(plan)
    try:
        command = build_command(plan.settings, environ=plan.environ, project=plan.project)
    except OSError as error:
        raise ConnectFailedError(f"cannot be started: {error}") from error
    return StdioTransport(plan.server, command)
