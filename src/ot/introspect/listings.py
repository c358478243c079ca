"""Listings at three levels of detail: names only, with a short description, or everything.

A listing is always whole; only its text, as the answer of a run, is cut where it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from mcp_core.json_types import Json, JsonObject
from ot.config.models import SnippetSettings
from ot.introspect.snippet_text import Expand, describe_snippet
from ot.registry.definitions import PackDefinition, ToolDefinition

Info = Literal["list", "min", "full"]

_SUMMARY = 200  # characters of a pack's description among others

SignatureOf = Callable[[ToolDefinition], str]
"""Gives the signature of a tool as it is shown: with what it was seen to return, where it does not say so itself."""


def list_tools(
    definitions: Iterable[ToolDefinition], pattern: str, info: Info, *, signature_of: SignatureOf
) -> list[Json]:
    """List the tools whose name contains the pattern."""
    found = [tool for tool in definitions if contains(tool.name, pattern)]
    match info:
        case "list":
            return [tool.name for tool in found]
        case "min":
            return [{"name": tool.name, "description": tool.description} for tool in found]
    return [_describe_tool(tool, signature_of(tool)) for tool in found]


def list_packs(
    packs: Iterable[PackDefinition], pattern: str, info: Info, *, instructions: Mapping[str, str]
) -> list[Json]:
    """List the packs whose name contains the pattern."""
    found = [pack for pack in packs if contains(pack.name, pattern)]
    match info:
        case "list":
            return [pack.name for pack in found]
        case "min":
            return [_summarise_pack(pack) for pack in found]
    return [_describe_pack(pack, instructions.get(pack.name, "")) for pack in found]


def list_aliases(aliases: Mapping[str, str], pattern: str, info: Info) -> list[Json]:
    """List the aliases whose name or target contains the pattern."""
    found = {name: aliases[name] for name in sorted(aliases) if contains(f"{name}\n{aliases[name]}", pattern)}
    match info:
        case "list":
            return list(found)
        case "min":
            return [f"{name} -> {target}" for name, target in found.items()]
    return [{"name": name, "target": target} for name, target in found.items()]


def list_snippets(
    snippets: Mapping[str, SnippetSettings], pattern: str, info: Info, *, expand: Expand
) -> list[str] | str:
    """List the snippets whose name or description contains the pattern; in full, as one text."""
    found = {
        name: snippets[name] for name in sorted(snippets) if contains(f"{name}\n{snippets[name].description}", pattern)
    }
    match info:
        case "list":
            return list(found)
        case "min":
            return [f"{name}: {snippet.description}" for name, snippet in found.items()]
    return "\n\n".join(describe_snippet(name, snippet, expand) for name, snippet in found.items())


def whole_description(tool: ToolDefinition) -> str:
    """Everything that its author wrote; a text that begins with its own summary is not told twice."""
    body = tool.docs.body
    summary = tool.description.rstrip("…")
    if " ".join(body.split()).startswith(summary):
        return body
    return f"{tool.description}\n\n{body}" if body else tool.description


def contains(text: str, pattern: str) -> bool:
    """True if the text contains the pattern, in upper or lower case."""
    return pattern.casefold() in text.casefold()


def _describe_tool(tool: ToolDefinition, signature: str) -> JsonObject:
    docs = tool.docs
    described = {"name": tool.name, "signature": signature, "description": whole_description(tool)}
    described |= {"source": tool.source, "effect": str(tool.effect)}
    parts: JsonObject = {
        "args": [f"{name}: {text}" for name, text in docs.arguments.items()],
        "returns": docs.returns,
        "example": docs.example,
    }
    return {**described, **{name: part for name, part in parts.items() if part}}


def _summarise_pack(pack: PackDefinition) -> JsonObject:
    about = " ".join(pack.description.split())
    shortened = about if len(about) <= _SUMMARY else f"{about[: _SUMMARY - 1].rstrip()}…"
    facts: JsonObject = {"name": pack.name, "source": pack.source.partition(":")[0], "tool_count": len(pack.tools)}
    return {**facts, **({"description": shortened} if shortened else {})}


def _describe_pack(pack: PackDefinition, instructions: str) -> JsonObject:
    about = {"description": pack.description, "instructions": instructions.strip()}
    tools: list[Json] = [{"name": tool.name, "description": tool.description} for _, tool in sorted(pack.tools.items())]
    return {**_summarise_pack(pack), **{key: text for key, text in about.items() if text}, "tools": tools}
