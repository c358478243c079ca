"""Runs over HTTP that need nothing of the SDK: for clients without a session that can be asked nothing."""

from __future__ import annotations

from typing import NamedTuple

from mcp.shared.dispatcher import DispatchContext
from mcp.shared.inbound import InboundModernRoute
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext

from mcp_core.json_types import JsonObject
from onetool.front.client_front import PlainFront
from onetool.front.operations import TRACE
from onetool.people.person_of import person_in
from onetool.porch.requests import Request, read_command
from ot.clients.person import Person

_SAID = frozenset({"name", "version", "title"})


class PlainRun(NamedTuple):
    """What there is to know of one: its code, and who wants it."""

    command: str
    front: PlainFront
    person: Person


def read_plain_run(
    context: DispatchContext[TransportContext], route: InboundModernRoute, method: str, params: JsonObject | None
) -> PlainRun | None:
    """Read a request for a plain run; None for any other, and for one in which anything is odd."""
    found = params or {}
    meta = found.get("_meta")
    if not isinstance(meta, dict) or route.client_capabilities != {}:
        return None
    command = read_command(Request(method, found, "", meta))
    client = _name_client(route.client_info)
    metadata = context.message_metadata
    if command is None or client is None or not isinstance(metadata, ServerMessageMetadata):
        return None
    if TRACE in (context.transport.headers or {}):
        return None
    return PlainRun(command, PlainFront(client, context.progress), person_in(metadata.request_context))


def _name_client(said: object) -> str | None:
    """Return what a client calls itself; None if it says anything else than usual."""
    if not isinstance(said, dict) or not _SAID.issuperset(said) or not {"name", "version"}.issubset(said):
        return None
    return said["name"] if all(isinstance(value, str) for value in said.values()) else None
