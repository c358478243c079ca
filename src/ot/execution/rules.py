"""Rules of the configuration that name tools, such as `files.*`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ot.registry.definitions import ToolDefinition


def first_rule(definition: ToolDefinition, rules: tuple[str, ...]) -> str | None:
    """Return the first rule that names a tool, by any of its names."""
    own_name = f"{definition.pack}.{definition.original}" if definition.original else None
    names = [name for name in (definition.name, definition.moved_from, own_name) if name]
    return next((rule for rule in rules if any(fnmatchcase(name, rule) for name in names)), None)
