"""Listings at three levels of detail: names only, with a short description, or everything.

A listing is always whole; only its text, as the answer of a run, is cut where it is long. A snippet is
shown as its author would write it, with how it is called and the code that it becomes.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import yaml

from mcp_core.json_types import Json, JsonObject
from ot.config.models import SnippetSettings
from ot.errors import OneToolError
from ot.execution.wording import word_error
from ot.registry.definitions import PackDefinition, ToolDefinition

Expand = Callable[[str], tuple[str, Mapping[str, str]]]
"""Gives the code of `$name key=value`, and the text that each placeholder in it stands for."""


class _Dumper(yaml.SafeDumper):
    """A dumper that writes texts of several lines as they are."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def describe_snippet(name: str, snippet: SnippetSettings, expand: Expand) -> str:
    """Write a snippet's definition, an example invocation, and what that expands to."""
    body = snippet.body if snippet.body.endswith("\n") else f"{snippet.body}\n"
    params: dict[str, dict[str, object]] = {}
    for key, each in snippet.params.items():
        params[key] = {} if each.required else {"default": each.default}
        if each.description:
            params[key]["description"] = each.description
    example = example_invocation(name, snippet)
    parts = [
        _dump({"name": name, "description": snippet.description}),
        _dump({"params": params}, inner_flow=True) if params else "",
        _dump({"body": body}),
        f"\n# Example with defaults:\n# {example}\n# Expands to:\n{_expansion(example, expand)}",
    ]
    return "".join(parts)


def example_invocation(name: str, snippet: SnippetSettings) -> str:
    """Write the shortest call of a snippet: required parameters, each with its own name as its value."""
    return " ".join([f"${name}", *(f"{key}={key}" for key, param in snippet.params.items() if param.required)])


def _dump(part: Mapping[str, object], *, inner_flow: bool = False) -> str:
    style = None if inner_flow else False  # None: what holds no other collection stands on one line
    return str(
        yaml.dump(part, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1, default_flow_style=style)
    )


def _expansion(invocation: str, expand: Expand) -> str:
    try:
        code, values = expand(invocation)
    except OneToolError as error:
        return f"# It fails: {word_error(error)}"
    try:  # placeholders that stand for a value of their own, not for a part of a text
        bare = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        bare = set()
    for placeholder, value in values.items():
        inside = json.dumps(value, ensure_ascii=False)[1:-1]  # of a string literal, which it cannot end
        code = code.replace(placeholder, _literal(value) if placeholder in bare else inside)
    return code.rstrip("\n")


def _literal(text: str) -> str:
    """Read a bare value as the code will see it: a number, true, false or null if the text is one, else a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return repr(text)
    return repr(text if isinstance(value, list | dict | str) else value)


Info = Literal["list", "min", "full"]

_SUMMARY = 200  # characters of a pack's description among others

SignatureOf = Callable[[ToolDefinition], str]
"""Gives the signature of a tool as it is shown: with what it was seen to return, where it does not say so itself."""


def list_tools(
    definitions: Iterable[ToolDefinition], pattern: str, info: Info, *, signature_of: SignatureOf
) -> list[Json]:
    found = [tool for tool in definitions if contains(tool.name, pattern)]
    if info == "list":
        return [tool.name for tool in found]
    if info == "min":
        return [{"name": tool.name, "description": tool.description} for tool in found]
    return [_describe_tool(tool, signature_of(tool)) for tool in found]


def list_packs(
    packs: Iterable[PackDefinition], pattern: str, info: Info, *, instructions: Mapping[str, str]
) -> list[Json]:
    found = [pack for pack in packs if contains(pack.name, pattern)]
    if info == "list":
        return [pack.name for pack in found]
    if info == "min":
        return [_summarise_pack(pack) for pack in found]
    return [_describe_pack(pack, instructions.get(pack.name, "")) for pack in found]


def list_aliases(aliases: Mapping[str, str], pattern: str, info: Info) -> list[Json]:
    found = {name: aliases[name] for name in sorted(aliases) if contains(f"{name}\n{aliases[name]}", pattern)}
    if info == "list":
        return list(found)
    if info == "min":
        return [f"{name} -> {target}" for name, target in found.items()]
    return [{"name": name, "target": target} for name, target in found.items()]


def list_snippets(
    snippets: Mapping[str, SnippetSettings], pattern: str, info: Info, *, expand: Expand
) -> list[str] | str:
    """List the snippets whose name or description contains the pattern; in full, as one text."""
    found = {
        name: snippets[name] for name in sorted(snippets) if contains(f"{name}\n{snippets[name].description}", pattern)
    }
    if info == "list":
        return list(found)
    if info == "min":
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
