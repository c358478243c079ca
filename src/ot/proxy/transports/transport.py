"""The two ways to reach a server: each gives the streams when entered, and can say afterwards what happened."""

from __future__ import annotations

from ot.proxy.plan import ConnectionPlan
from ot.proxy.status import ConnectFailedError
from ot.proxy.transports.commands import build_command
from ot.proxy.transports.http import HttpTransport
from ot.proxy.transports.stdio import StdioTransport

Transport = HttpTransport | StdioTransport


def build_transport(plan: ConnectionPlan) -> Transport:
    """Build the transport that the settings ask for; raises ConnectFailedError."""
    if plan.settings.command is None:
        return HttpTransport(plan)
    try:
        command = build_command(plan.settings, environ=plan.environ, project=plan.project)
    except OSError as error:
        raise ConnectFailedError(f"cannot be started: {error}") from error
    return StdioTransport(plan.server, command)
