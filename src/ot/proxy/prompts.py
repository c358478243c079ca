"""The servers' prompts: listed together, and one filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError
from ot.proxy.calls.content import read_result
from ot.proxy.resources import Asked, admit, ask_all
from ot.proxy.server import ProxiedServer
from ot.proxy.servers import Servers
from ot.values import ToolValue


async def list_prompts(servers: Servers, server: str = "") -> list[JsonObject]:
    """List the prompts of all servers, or of one; raises CallError if that one cannot be asked."""
    asked = await _list_all(servers.choose(server), server)
    found = [_describe(name, item) for name, items in asked.listed.items() for item in items]
    return found + asked.failures_as_items()


async def _list_all(chosen: Sequence[ProxiedServer], named: str) -> Asked:
    """Ask servers for their prompts; returns them as a model may see them."""
    asked = await ask_all(chosen, lambda connection: connection.prompts(), named)
    for server in chosen:
        if server.name in asked.listed:
            await anyio.to_thread.run_sync(server.memory.note_prompts, asked.listed[server.name])
            asked.listed[server.name] = [dict(item) for item in server.memory.shown("prompts")]
    return asked


async def fill_prompt(
    servers: Servers, name: str, arguments: Mapping[str, Json], server: str = ""
) -> list[dict[str, ToolValue]]:
    """Return the messages of one prompt; raises ToolError if no server, or more than one, has it.

    Raises ToolChangedError if nobody has accepted it as it is defined now.
    """
    chosen = servers.choose(server)
    if not server or chosen[0].memory.pinned:
        asked = await _list_all(chosen, server)
        having = [each for each in chosen if any(item.get("name") == name for item in asked.listed.get(each.name, []))]
        if len(having) > 1:
            names = ", ".join(each.name for each in having)
            raise ToolError(f"several servers have a prompt {name!r}: {names}. Say which one with server=")
        if not having:
            known = sorted({str(item["name"]) for items in asked.listed.values() for item in items})
            failed = ", ".join(sorted(asked.failures))
            silent = f" These servers could not be asked: {failed}." if failed else ""
            raise ToolError(f"no server has a prompt {name!r}. Prompts: {', '.join(known) or 'none'}.{silent}")
        chosen = having
        chosen[0].refuse_unaccepted("prompts", name)
    texts = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
    await admit(servers, chosen[0], f"prompt:{name}", texts)
    filled = await chosen[0].ask(lambda connection: connection.prompt(name, texts))
    return [
        {"role": message.get("role"), "content": read_result({"content": [message.get("content")]})}
        for message in _objects(filled.get("messages"))
    ]


def _describe(server: str, item: Mapping[str, Json]) -> JsonObject:
    arguments: list[Json] = [
        {
            "name": argument.get("name"),
            **({"description": argument["description"]} if argument.get("description") else {}),
            "required": argument.get("required") is True,
        }
        for argument in _objects(item.get("arguments"))
    ]
    facts: JsonObject = {
        "server": server,
        "name": item.get("name"),
        "description": item.get("description") or item.get("title"),
    }
    return {**{key: value for key, value in facts.items() if value}, "arguments": arguments}


def _objects(items: Json) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
