"""Copies of schemas that others wrote: closed lists of keywords with checked contents, within limits, without `$ref`.

A copy is weaker than its schema wherever something is left out, never stricter. Nothing is fetched: a reference is
followed inside the same schema only, and replaced by what it points to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from mcp_core.json_types import Json, JsonObject, Schema, resolve

TYPES = frozenset({"null", "boolean", "number", "integer", "string", "array", "object"})
Reader = Callable[["SchemaCopy", str, Json, int], JsonObject]
"""Reads the value of one keyword at one level; gives what of it belongs into the copy."""


class SchemaCopy:
    """One copy of one schema. Subclasses say what they understand; the budget of nodes bounds what comes of it."""

    readers: ClassVar[Mapping[str, Reader]]
    max_nodes: ClassVar[int]
    max_levels: ClassVar[int]
    with_siblings: ClassVar[bool] = False  # whether what stands beside a `$ref` counts

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.nodes = self.max_nodes

    def resolve(self, schema: object) -> Schema:
        """Follow references; an empty schema where they lead to none."""
        found = resolve(self._root, schema, with_siblings=self.with_siblings)
        return found if isinstance(found, Mapping) else {}

    def copy(self, schema: object, level: int = 0) -> JsonObject:
        """Copy one schema; `{}` accepts everything."""
        self.nodes -= 1
        if level > self.max_levels or self.nodes <= 0:
            return {}
        resolved = self.resolve(schema)
        found: JsonObject = {}
        for keyword, read in self.readers.items():
            if keyword in resolved:
                found.update(read(self, keyword, resolved[keyword], level))
        self.finish(resolved, found, level)
        return found

    def finish(self, schema: Schema, found: JsonObject, level: int) -> None:
        """Add or remove what depends on several keywords."""


def read_type(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in TYPES for name in names):
        return {}
    return {"type": names[0] if len(names) == 1 else list(dict.fromkeys(names))}


def read_number(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    if (type(value) is int or type(value) is float) and abs(value) < 1e300:  # NaN is not less
        return {keyword: value}
    return {}


def read_size(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    return {keyword: value} if type(value) is int and 0 <= value < 2**53 else {}


NUMBERS: dict[str, Reader] = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), read_number)
SIZES: dict[str, Reader] = dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), read_size)


def names_in(value: object) -> list[str]:
    """Return the texts of a list, each once; nothing of anything else."""
    return list(dict.fromkeys(name for name in value if type(name) is str)) if isinstance(value, list) else []
