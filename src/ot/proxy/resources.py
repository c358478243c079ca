"""The servers' resources: listed together, and read by their address."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio

from ot.errors import CallError, ToolError
from ot.logs import write_log
from ot.proxy.content import read_result
from ot.proxy.server import ProxiedServer
from ot.proxy.servers import Servers
from ot_kernel.values import Image, Resource

Listing = dict[str, list[dict[str, Any]]]
"""What each server listed, by its name; servers that could not be asked are missing."""


async def list_resources(servers: Servers, server: str = "") -> list[dict[str, Any]]:
    """Every resource of all servers, or of one; raises CallError where that one cannot be asked."""
    found = await ask_all(servers.choose(server), lambda each: each.ask(lambda session: session.resources()), server)
    return [_describe(name, item) for name, items in found.items() for item in items]


async def read_resource(servers: Servers, uri: str, server: str = "") -> Any:
    """What a resource holds: text, an image, bytes; or a list of resources where it has several parts.

    Without a server, that one is asked which lists the address, or a pattern that it fits; else each in turn.
    """
    chosen = servers.choose(server)
    if not chosen:
        raise ToolError("no server is configured, so there are no resources")
    if len(chosen) > 1:
        listed = await ask_all(chosen, lambda each: each.ask(lambda session: session.resources()), "")
        chosen = _who_has(uri, chosen, listed)
    failures: list[str] = []
    for each in chosen:
        try:
            return _value_of(await each.ask(lambda session: session.read(uri)))
        except ToolError as error:
            failures.append(f"{each.name}: {error.message}")
    asked = "; ".join(failures) or "no server offers resources"
    raise ToolError(f"the resource {uri!r} cannot be read ({asked}). ot.resources() lists what there is")


async def ask_all(
    servers: Iterable[ProxiedServer],
    ask: Callable[[ProxiedServer], Awaitable[list[dict[str, Any]]]],
    named: str,
) -> Listing:
    """Ask several servers at once; one that cannot be asked is left out, unless it is the one that was named."""
    answers: Listing = {}
    refused: list[CallError] = []

    async def ask_one(server: ProxiedServer) -> None:
        try:
            answers[server.name] = await ask(server)
        except CallError as error:
            refused.append(error)
            write_log(logging.WARNING, "proxy.ask", server=server.name, reason=str(error))

    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(ask_one, server)
    if named and refused:
        raise refused[0]
    return dict(sorted(answers.items()))


def _describe(server: str, item: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "server": server,
        "uri": item.get("uri"),
        "uri_template": item.get("uriTemplate"),
        "name": item.get("title") or item.get("name"),
        "description": item.get("description"),
        "mime_type": item.get("mimeType"),
        "size": item.get("size"),
    }
    return {key: value for key, value in facts.items() if value is not None}


def _who_has(uri: str, servers: list[ProxiedServer], listed: Listing) -> list[ProxiedServer]:
    """The servers to ask for an address, the likeliest first; only those that offer resources at all."""

    def likeliness(server: ProxiedServer) -> int:
        items = listed.get(server.name, [])
        if any(item.get("uri") == uri for item in items):
            return 0
        return 1 if any(_fits(uri, item.get("uriTemplate")) for item in items) else 2

    ranked = sorted((server for server in servers if listed.get(server.name)), key=likeliness)
    certain = [server for server in ranked if likeliness(server) == 0]
    return certain[:1] or ranked


def _fits(uri: str, template: Any) -> bool:
    """Whether an address may come of a template such as `file:///{path}`."""
    if not isinstance(template, str) or len(template) > 2000:
        return False
    parts = re.split(r"\{[^{}]*\}", template)
    position = len(parts[0])
    if not uri.startswith(parts[0]) or not uri.endswith(parts[-1]):
        return False
    for part in parts[1:]:  # each fixed part after the one before it; what stands between them is free
        position = uri.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


def _value_of(contents: list[dict[str, Any]]) -> Any:
    found = read_result({"content": [{"type": "resource", "resource": item} for item in contents]})
    if not isinstance(found, Resource):
        return found
    if found.text is not None:
        return found.text
    if found.data is not None and (found.mime_type or "").startswith("image/"):
        return Image(found.data, found.mime_type)
    return found.data if found.data is not None else found
