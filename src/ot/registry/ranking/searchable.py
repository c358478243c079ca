"""Searchable things: a name, the pack it belongs to, and what is written about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mcp_core.json_types import Json, Schema
from mcp_core.quick_dataclass import dataclass
from ot.registry.ranking.thesaurus import CHANGING, READING
from ot.registry.ranking.words import Stems

_ACTIONS = READING | CHANGING
_FIRST_WORDS = 200  # characters of a description in which its first word stands


@dataclass(frozen=True, slots=True)
class Searchable:
    """One thing that can be found: `key` is what the answer calls it by."""

    key: str
    pack: str
    name: str
    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    reads: bool = False  # it is known to change nothing

    @classmethod
    def of_schema(
        cls, key: str, pack: str, name: str, description: str, schema: Schema, *, reads: bool = False
    ) -> Searchable:
        """A tool whose parameters are described by a JSON Schema."""
        return cls(key, pack, name, description, read_parameters(schema), reads)

    def changes(self, stems: Stems) -> bool:
        """True if its name, or else its description, begins with a verb of change, unless it is known to read."""
        if self.reads:
            return False
        words = [*stems.read(self.name), *stems.read(self.description[:_FIRST_WORDS])[:1]]
        return next((word for word in words if word in _ACTIONS), "") in CHANGING

    @classmethod
    def of_tool(cls, tool: Mapping[str, Json]) -> Searchable:
        """A tool as its server lists it: `name`, `description`, `inputSchema`; without a `key`, its name is that."""
        name = str(tool["name"])
        schema = tool.get("inputSchema")
        return cls.of_schema(
            str(tool.get("key", name)),
            str(tool.get("pack", "")),
            name,
            str(tool.get("description") or ""),
            schema if isinstance(schema, Mapping) else {},
        )


def read_parameters(schema: Schema) -> dict[str, str]:
    """Names and descriptions of the parameters in a JSON Schema, which another server may have written badly."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {str(name): _description(parameter) for name, parameter in properties.items()}


def _description(parameter: object) -> str:
    text = parameter.get("description", "") if isinstance(parameter, Mapping) else ""
    return text if isinstance(text, str) else ""
