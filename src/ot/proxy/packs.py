"""A server as a pack: the tools that the settings let through, each with the function that calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from functools import partial
from typing import cast

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.shown import ShownCall
from ot.config.server_settings import ToolFilter
from ot.context import current_or_none
from ot.errors import PackLoadError
from ot.proxy.calls import ResultForm, is_long, plain_arguments, read_result, result_form
from ot.proxy.definitions.pins import definitions_of
from ot.proxy.definitions.views import is_for_models, view_of
from ot.proxy.listed import Listed
from ot.proxy.server import ProxiedServer
from ot.registry.definitions import PackDefinition, ToolDefinition
from ot.registry.from_schema import define_pack
from ot.registry.open_results import digest_of, learn_result
from ot.registry.registry import ToolFunction
from ot.tasks.large_values import aside, is_large
from ot.values import PLAIN, Arguments, ToolValue
from ot_kernel.values import Resource

FindListed = Callable[[], Awaitable[Listed]]
BuiltPack = tuple[PackDefinition, dict[str, ToolFunction], list[PackLoadError]]


def build_pack(server: ProxiedServer, placed: PackDefinition, wanted: str, listed: FindListed) -> BuiltPack:
    """Build the pack of a server under the name that it got, the function of each tool, and a list of problems."""
    # `wanted` is the name that it would have had: what policy says of that one holds too. `listed` gives the addresses
    # of all servers, for links in answers.
    problems: list[PackLoadError] = []
    offer = server.offer()  # connects it, if nothing is known of it
    shown = server.memory.shown("tools") if server.offers("tools") else ()
    tools = [tool for tool in shown if passes(str(tool["name"]), server.settings.tools)]
    by_name = {str(tool["name"]): tool for tool in reversed(tools)}  # the first one of a name counts

    def version_of(tool: ToolDefinition) -> str:
        """Return a digest of what may change a tool's values: its definition, its program, the way they are read."""
        definition = definitions_of("tools", [by_name[tool.original or tool.tool]])
        return digest_of(definition, offer.version, server.settings.json_text)

    def finish(tool: ToolDefinition) -> ToolDefinition:
        if placed.name != wanted:
            tool = replace(tool, moved_from=f"{wanted}.{tool.tool}")
        return learn_result(tool, server.memory.place, version_of)

    pack = define_pack(
        server.name,
        placed.name,
        tools,
        description=describe(server.name, *server.memory.shown_words(), hidden=len(server.memory.hidden("tools"))),
        timeout=server.settings.timeout,
        problems=problems,
        finish=finish,
        for_views={name for name, tool in by_name.items() if not is_for_models(tool)},
    )
    functions: dict[str, ToolFunction] = {}
    for short, tool in pack.tools.items():
        own_name = tool.original or tool.tool
        form = result_form(by_name[own_name], json_text=server.settings.json_text)
        functions[short] = partial(_call, server, own_name, form, listed, view_of(by_name[own_name]))
    return pack, functions, problems


def describe(name: str, title: str, instructions: str, *, hidden: int = 0) -> str:
    """Describe a pack by its server's title and instructions, and the number of tools that nobody has accepted."""
    head = f"The MCP server {name}{f' ({title})' if title and title != name else ''}."
    if hidden:
        head += f" {word_hidden(hidden, 'tool', name)}"
    return f"{head}\n\n{instructions}" if instructions.strip() else head


def word_hidden(count: int, kind: str, server: str) -> str:
    """Say how many tools or prompts a model cannot see, and how a person changes that."""
    are = f"1 new {kind} is" if count == 1 else f"{count:,} new {kind}s are"
    return f"{are} not shown until a person has accepted what changed: `onetool accept {server}`."


def passes(name: str, filters: ToolFilter) -> bool:
    allowed = "*" in filters.allow or any(fnmatchcase(name, rule) for rule in filters.allow)
    return allowed and not any(fnmatchcase(name, rule) for rule in filters.deny)


async def _relink(items: list[ToolValue], listed: FindListed, server: str) -> None:
    """Make links mean the same server to whoever follows them as they do to the one that gave them."""
    addresses = await listed()
    for item in items:
        if isinstance(item, Resource):
            item.uri = addresses.address_of(server, item.uri)


async def _call(
    server: ProxiedServer, tool: str, form: ResultForm, listed: FindListed, view: str, arguments: Arguments
) -> ToolValue:
    if PLAIN.issuperset(map(type, arguments.values())):
        plain = cast("JsonObject", dict(arguments))
    else:
        plain = await aside(plain_arguments, arguments) if is_large(arguments) else plain_arguments(arguments)
    result = await server.call(tool, plain)
    context = current_or_none()
    if context is not None and context.caller.shown is not None:
        context.caller.shown.add(ShownCall(server.name, tool, view, plain, result))
    if is_long(result):
        value = await aside(read_result, result, form)  # so that others are answered meanwhile
    else:
        value = read_result(result, form)
    items = value if type(value) is list else [value]
    if Resource in map(type, items):
        await _relink(items, listed, server.name)
    return value
