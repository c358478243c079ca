"""The servers' resources and prompts: listed together, read by their address, filled in by their name."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import anyio

from mcp_core.json_types import Json, JsonObject, list_of
from mcp_core.quick_dataclass import dataclass
from ot.context import current_or_none
from ot.errors import CallError, ServerUnavailableError, ToolDeniedError, ToolError
from ot.logs import write_log
from ot.proxy.calls import read_result
from ot.proxy.listed import OURS, Listed, fits
from ot.proxy.packs import word_hidden
from ot.proxy.server import ProxiedServer
from ot.proxy.servers import Servers
from ot.registry.names import shown_name
from ot.values import Arguments, ToolValue
from ot_kernel.values import Image, Resource

if TYPE_CHECKING:
    from ot.proxy.connections.connection import Connection

PATIENCE = 10.0  # seconds that all servers wait for the slowest of them
Listing = dict[str, list[JsonObject]]
Question = Callable[["Connection"], Awaitable[list[JsonObject]]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of all servers by name, and the reasons why others could not be asked."""

    listed: Listing
    failures: dict[str, str]

    def failures_as_items(self) -> list[JsonObject]:
        """Return the failures as entries for the end of a list that would otherwise look complete."""
        return [{"server": name, "error": reason} for name, reason in sorted(self.failures.items())]


async def list_resources(servers: Servers, server: str = "", *, patience: float = PATIENCE) -> list[JsonObject]:
    """List the resources of all servers, or of one; raises CallError if that one cannot be asked."""
    chosen = _offering(servers, "resources", server)
    asked, listed = await ask_all(chosen, _resources_of, server, patience=patience), await servers.listed()
    found: list[JsonObject] = []
    for name, item in ((name, item) for name, items in asked.listed.items() for item in items):
        uri, template = (_address(listed, name, item.get(key)) for key in ("uri", "uriTemplate"))
        facts: JsonObject = {"server": name, "uri": uri, "uri_template": template}
        facts |= {"name": item.get("title") or item.get("name"), "description": item.get("description")}
        facts |= {"mime_type": item.get("mimeType"), "size": item.get("size")}
        found.append({key: value for key, value in facts.items() if value is not None})
    return found + asked.failures_as_items()


def _address(listed: Listed, server: str, uri: Json) -> Json:
    """Return the address by which what a server lists can be read; its own, unless that is another server's."""
    if not isinstance(uri, str):
        return None
    owned = listed.find_template(uri)
    return uri if owned is None or owned.server == server else listed.address_of(server, uri)


async def read_resource(servers: Servers, uri: str, server: str = "") -> object:
    """Return the content of a resource: text, an image, bytes; or a list of resources if it has several parts."""
    # Without a server, an address is that of whoever listed it first; then whoever lists it now, or a pattern that it
    # fits, is asked first; then each in turn.
    if (uri.startswith(OURS) or not server) and (owned := (await servers.listed()).find_address(uri)) is not None:
        server, uri = owned.server, owned.name
    chosen = _offering(servers, "resources", server)
    failures: list[str] = []
    if not chosen:
        raise ToolError("no server is configured, so there are no resources")
    if len(chosen) > 1:
        asked = await ask_all(chosen, _resources_of, "")
        chosen = _who_has(uri, chosen, asked.listed)
        failures = [f"{name}: {reason}" for name, reason in asked.failures.items()]
    for each in chosen:
        try:
            await admit(servers, each, f"resource:{uri}", {"uri": uri})
            found = await each.ask(lambda connection: connection.contents.read(uri))
            return _value_of(list_of(found.get("contents")))
        except ToolDeniedError:
            if len(chosen) == 1:
                raise
            failures.append(f"{each.name}: the configuration denies it")
        except ToolError as error:
            failures.append(f"{each.name}: {error.message}")
    reasons = "; ".join(failures) or "no server offers resources"
    raise ToolError(f"the resource {uri!r} cannot be read ({reasons}). ot.resources() lists all resources")


def _offering(servers: Servers, part: Literal["prompts", "resources"], server: str) -> list[ProxiedServer]:
    """Return the servers of which a part is offered, or the one that is named; raises ToolError."""
    chosen = servers.choose(server)
    if server and not chosen[0].offers(part):
        raise ToolError(f"the {part} of {chosen[0].name} are not offered (servers.{chosen[0].name}.offer)")
    return [each for each in chosen if each.offers(part)]


async def _resources_of(connection: Connection) -> list[JsonObject]:
    return [*await connection.contents.resources(), *await connection.contents.templates()]


async def admit(servers: Servers, server: ProxiedServer, what: str, arguments: Arguments) -> None:
    """Take a resource or prompt through the policy, under every name of its server; raises CallError."""
    context = current_or_none()
    if context is not None:
        await context.admit(tuple(f"{name}.{what}" for name in servers.names_of(server)), arguments)


async def ask_all(
    servers: Iterable[ProxiedServer], question: Question, named: str, *, patience: float = PATIENCE
) -> Asked:
    """Ask several servers at once, and leave out those that take too long; a server that was named is waited for."""
    answers: Listing = {}
    failures: dict[str, str] = {}
    refused: list[CallError] = []

    async def ask_one(server: ProxiedServer) -> None:
        try:
            with anyio.fail_after(None if named else patience):
                answers[server.name] = await server.ask(question)
        except TimeoutError:
            failures[server.name] = f"it did not answer within {patience:g} s"
        except CallError as error:
            refused.append(error)
            failures[server.name] = error.reason if isinstance(error, ServerUnavailableError) else str(error)

    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(ask_one, server)
    for name, reason in failures.items():
        write_log(logging.WARNING, "proxy.ask", server=name, reason=reason)
    if named and refused:
        raise refused[0]
    return Asked(dict(sorted(answers.items())), failures)


def _who_has(uri: str, servers: list[ProxiedServer], listed: Listing) -> list[ProxiedServer]:
    """Return the servers that offer resources, the likeliest to have this address first."""

    def likeliness(server: ProxiedServer) -> int:
        items = listed.get(server.name, [])
        if any(item.get("uri") == uri for item in items):
            return 0
        return 1 if any(fits(uri, item.get("uriTemplate")) for item in items) else 2

    ranked = sorted((server for server in servers if listed.get(server.name)), key=likeliness)
    certain = [server for server in ranked if likeliness(server) == 0]
    return certain[:1] or ranked


def _value_of(contents: list[Json]) -> object:
    found = read_result({"content": [{"type": "resource", "resource": item} for item in contents]})
    if not isinstance(found, Resource):
        return found
    if found.text is not None:
        return found.text
    if found.data is not None and (found.mime_type or "").startswith("image/"):
        return Image(found.data, found.mime_type)
    return found.data if found.data is not None else found


async def list_prompts(servers: Servers, server: str = "") -> list[JsonObject]:
    """List the prompts of all servers, or of one; raises CallError if that one cannot be asked."""
    chosen = _offering(servers, "prompts", server)
    asked = await _list_all(chosen, server)
    found = [_describe_prompt(name, item) for name, items in asked.listed.items() for item in items]
    hidden = {each.name: len(each.memory.hidden("prompts")) for each in chosen}
    found += [{"server": name, "hidden": n, "note": word_hidden(n, "prompt", name)} for name, n in hidden.items() if n]
    return found + asked.failures_as_items()


async def _list_all(chosen: Sequence[ProxiedServer], named: str) -> Asked:
    """Ask servers for their prompts; returns them as a model may see them."""
    asked = await ask_all(chosen, lambda connection: connection.contents.prompts(), named)
    for server in chosen:
        if server.name in asked.listed:
            await server.note_prompts(asked.listed[server.name])
            asked.listed[server.name] = [dict(item) for item in server.memory.shown("prompts")]
    return asked


async def fill_prompt(
    servers: Servers, name: str, arguments: Mapping[str, Json], server: str = ""
) -> list[dict[str, ToolValue]]:
    """Return the messages of a prompt; raises ToolError unless one server has it, ToolChangedError if unaccepted."""
    chosen = _offering(servers, "prompts", server)
    if not server or chosen[0].memory.pinned:
        asked = await _list_all(chosen, server)
        own_names = {each: _own_name(name, asked.listed.get(each.name, [])) for each in chosen}
        having = [each for each, own in own_names.items() if own is not None]
        if len(having) > 1:
            names = ", ".join(each.name for each in having)
            raise ToolError(f"several servers have a prompt {name!r}: {names}. Say which one with server=")
        if not having:
            for each in chosen:
                each.refuse_unaccepted("prompts", name)
            known = sorted({shown_name(str(item["name"])) for items in asked.listed.values() for item in items})
            failed = ", ".join(sorted(asked.failures))
            silent = f" These servers could not be asked: {failed}." if failed else ""
            raise ToolError(f"no server has a prompt {name!r}. Prompts: {', '.join(known) or 'none'}.{silent}")
        chosen = having
        name = own_names[chosen[0]] or name
        chosen[0].refuse_unaccepted("prompts", name)
    texts = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
    await admit(servers, chosen[0], f"prompt:{name}", texts)
    filled = await chosen[0].ask(lambda connection: connection.contents.prompt(name, texts))
    return [
        {"role": message.get("role"), "content": read_result({"content": [message.get("content")]})}
        for message in _objects(filled.get("messages"))
    ]


def _own_name(name: str, listed: Iterable[JsonObject]) -> str | None:
    """Return the name that a server has for a prompt, given that or the one that a model sees."""
    own = [str(item["name"]) for item in listed]
    return name if name in own else next((each for each in own if shown_name(each) == name), None)


def _describe_prompt(server: str, item: Mapping[str, Json]) -> JsonObject:
    arguments: list[Json] = []
    for each in _objects(item.get("arguments")):
        words: JsonObject = {"description": each["description"]} if each.get("description") else {}
        arguments.append({"name": shown_name(str(each.get("name"))), **words, "required": each.get("required") is True})
    facts: JsonObject = {"server": server, "name": shown_name(str(item.get("name")))}
    facts["description"] = item.get("description") or item.get("title")
    return {**{key: value for key, value in facts.items() if value}, "arguments": arguments}


def _objects(items: Json) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
