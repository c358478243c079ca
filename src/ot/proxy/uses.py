"""Uses of what servers have beside tools, as clients make them: within a call, with what a server says as it is.

Only addresses change on the way, and come to mean the same server for the client as for the server that said them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from ot.errors import NotListedError, ToolError
from ot.proxy.listed import Listed, Owned
from ot.proxy.resources import admit
from ot.proxy.watched import MOST
from ot.registry.names import shown_name

Kind = Literal["prompt", "resource", "template"]
MOST_COMPLETIONS = 100

if TYPE_CHECKING:
    from ot.proxy.server import ProxiedServer
    from ot.proxy.servers import Servers


async def read_listed(servers: Servers, uri: str) -> JsonObject:
    """Read a resource by the address that clients have for it; raises CallError."""
    listed = await servers.listed()
    server, own = await _find(servers, uri, "resource")
    await admit(servers, server, f"resource:{own}", {"uri": own})
    found = await server.ask(lambda connection: connection.contents.read(own))
    contents = [_relink(each, listed, server.name, asked={own: uri}) for each in list_of(found.get("contents"))]
    return {**found, "contents": contents}


async def fill_listed(servers: Servers, name: str, arguments: Mapping[str, Json]) -> JsonObject:
    """Fill in a prompt by the name that clients have for it; raises CallError."""
    listed = await servers.listed()
    server, own = await _find(servers, name, "prompt")
    texts = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
    if server.memory.pinned:
        await server.look_at_prompts()
    server.refuse_unaccepted("prompts", own)
    await admit(servers, server, f"prompt:{own}", texts)
    found = await server.ask(lambda connection: connection.contents.prompt(own, texts))
    messages: list[Json] = [
        _relink_message(mapping_of(each), listed, server.name) for each in list_of(found.get("messages"))
    ]
    return {**found, "messages": messages}


async def complete_listed(
    servers: Servers, reference: JsonObject, argument: JsonObject, given: JsonObject
) -> JsonObject:
    """Complete an argument of a prompt or of a template that clients are shown; raises CallError."""
    if reference.get("type") == "ref/prompt":
        server, own = await _find(servers, str(reference.get("name")), "prompt")
        server.refuse_unaccepted("prompts", own)
        meant: JsonObject = {"type": "ref/prompt", "name": own}
        await admit(servers, server, f"prompt:{own}", {str(argument.get("name")): str(argument.get("value"))})
    else:
        server, own = await _find(servers, str(reference.get("uri")), "template")
        meant = {"type": "ref/resource", "uri": own}
        await admit(servers, server, f"resource:{own}", {"uri": own})
    found = await server.ask(lambda connection: connection.contents.complete(meant, argument, given))
    completion = mapping_of(found.get("completion"))
    return {**found, "completion": {**completion, "values": list_of(completion.get("values"))[:MOST_COMPLETIONS]}}


async def watch_listed(
    servers: Servers, uri: str, tell: Callable[[], None], ends: list[Callable[[], None]]
) -> JsonObject:
    """Have a client hear of updates of a resource; what ends that is added to `ends`. Raises CallError."""
    server, own = await _find(servers, uri, "resource")
    await admit(servers, server, f"resource:{own}", {"uri": own})
    end = server.watch(own, tell)
    if end is None:
        raise ToolError(f"{MOST:,} resources of the server {server.name} are watched already")
    ends.append(end)
    return {}


async def _find(servers: Servers, name: str, kind: Kind) -> tuple[ProxiedServer, str]:
    """Find the server that has something, and its own name for that; raises NotListedError or ToolChangedError."""
    for wait in (False, True):
        if wait:  # it may be that of a server which is only being connected
            await servers.catch_up_contents()
        owned = _look_up(await servers.listed(), name, kind, servers)
        server = None if owned is None else servers.named(owned.server)
        if owned is not None and server is not None and server.offers("prompts" if kind == "prompt" else "resources"):
            return server, owned.name
    if kind == "prompt":
        for each in servers.choose():  # it may be one that nobody has accepted
            each.refuse_unaccepted("prompts", name.removeprefix(f"{each.name}."))
    raise NotListedError("resource template" if kind == "template" else kind, shown_name(name))


def _look_up(listed: Listed, name: str, kind: Kind, servers: Servers) -> Owned | None:
    match kind:
        case "prompt":
            return listed.find_prompt(name)
        case "template":
            return listed.find_template(name)
    return listed.find_address(name) or listed.find_masked(name, servers.redact)


def _relink_message(message: Mapping[str, Json], listed: Listed, server: str) -> JsonObject:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [_relink_block(each, listed, server) for each in content]}
    return {**message, "content": _relink_block(content, listed, server)}


def _relink_block(block: Json, listed: Listed, server: str) -> Json:
    found = mapping_of(block)
    if found.get("type") == "resource_link":
        return _relink(block, listed, server)
    if found.get("type") == "resource":
        return {**found, "resource": _relink(found.get("resource"), listed, server)}
    return block


def _relink(resource: Json, listed: Listed, server: str, *, asked: Mapping[str, str] | None = None) -> Json:
    found = mapping_of(resource)
    uri = found.get("uri")
    if not isinstance(uri, str):
        return resource
    return {**found, "uri": (asked or {}).get(uri) or listed.address_of(server, uri)}
