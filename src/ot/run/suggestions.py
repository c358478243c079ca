"""Suggestions for an author who used an undefined name."""

from __future__ import annotations

from mcp_core.nearest_names import nearest
from ot.execution.wording import STARTS_FRESH, is_module, is_near, list_names, word_error
from ot.registry.registry import ToolRegistry

_MOST = 3


def suggest(name: str, registry: ToolRegistry) -> str:
    """Write one sentence that leads from an undefined name to code that works."""
    if (absence := registry.absence(name)) is not None:
        return word_error(absence)
    if is_module(name):
        return f"Add `import {name}`: modules of the standard library are imported as in any program."
    same = [definition for definition in registry.definitions() if definition.tool == name]
    if same:
        return f"A tool is called with its pack: {' or '.join(tool.signature for tool in same[:_MOST])}"
    near = _near_names(name, registry)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    packs = list_names(name, (pack.name for pack in registry.packs()))
    return f"{STARTS_FRESH} Packs: {packs}; ot.tools() lists their tools."


def suggest_narrower(value: object, registry: ToolRegistry) -> str:
    """Say how to ask for less if the value is a listing of tools; empty for any other value."""
    first = value[0] if isinstance(value, list) and value else None
    name = first.get("name") if isinstance(first, dict) else first
    if not isinstance(name, str) or not registry.has(name):
        return ""
    return 'Narrow it: ot.tools(pattern="..."), info="list" for names only, or ot.help(query="what you want to do").'


def _near_names(name: str, registry: ToolRegistry) -> list[str]:
    """Find packs, and tools with their packs, whose name is nearly this one."""
    meant = {pack.name: pack.name for pack in registry.packs()}
    for definition in registry.definitions():
        meant.setdefault(definition.tool, definition.name)
    ranked = nearest(name, meant)[:_MOST]
    return [meant[candidate] for candidate in ranked if is_near(name, [candidate])]
