"""The arguments of a tool that undoes a call, out of what the call was given and has returned."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_core.json_types import JsonObject, list_of, mapping_of
from ot.config.models import Config
from ot.errors import ToolError
from ot.registry.registry import ToolRegistry
from ot.values import ToolValue
from ot_kernel.values import Encoded, decode_field, encode

TOOL, ARGUMENTS, VALUE = "tool", "arguments", "value"


def find_inverse(tool: str, config: Config, registry: ToolRegistry) -> Mapping[str, str]:
    """Return the tool that undoes a tool, with its arguments; empty where there is none."""
    known = registry.get(tool) if registry.has(tool) else None
    declared: Mapping[str, str] = {}
    for name in (tool,) if known is None else known.all_names:  # a server may be called otherwise than its pack
        pack, _, short = name.partition(".")
        if not declared and (settings := config.packs.get(pack)) is not None:
            declared = settings.undo.get(short, {})
    if not declared and known is not None:
        declared = known.undone_by
    if not declared:
        return {}
    undoing = declared[TOOL]
    return {**declared, TOOL: undoing if "." in undoing else f"{tool.partition('.')[0]}.{undoing}"}


def encoded(value: object) -> Encoded:
    """Return a value as the journal has it; nothing where it has no form for it."""
    try:
        return encode(value)
    except (TypeError, ValueError):
        return None


def fill_in(inverse: Mapping[str, str], facts: JsonObject) -> dict[str, ToolValue]:
    """Return the arguments of a tool out of what a call was given and has returned; raises ToolError."""
    return {name: _find(text, facts) for name, text in inverse.items() if name != TOOL}


def _find(text: str, facts: JsonObject) -> ToolValue:
    first, *steps = text.split(".")
    if first not in ("result", "arguments"):
        return text
    name = VALUE if first == "result" else ARGUMENTS
    if facts.get(name) is None:
        raise ToolError("its result is not known" if first == "result" else "its arguments are not known")
    found: object = facts[name]
    for step in steps:
        if isinstance(found, dict) and step in found:
            found = mapping_of(found)[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = list_of(found)[int(step)]
        else:
            raise ToolError(f"there is no {text} in the call")
    value: ToolValue = decode_field(found)
    return value
