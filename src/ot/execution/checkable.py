"""The part of a JSON Schema that is checked before a call: always weaker than the whole, so never wrongly strict.

Schemas also come from other servers, and the checker turns a schema into Python code. So it never sees theirs: it
sees a copy, built here from a closed list of keywords with checked contents, in which every `$ref` is already
replaced by what it points to inside the same schema. Nothing is fetched, and no text of a schema is trusted. What is
left out (patterns, formats, conditions, remote references, anything past the size limits) is for the tool to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ot.registry.json_pointers import resolve

Schema = dict[str, Any]

MAX_NODES = 1000
MAX_LEVELS = 8  # Python refuses to compile blocks nested more than twenty deep
MAX_CHOICES = 200
_TYPES = frozenset({"null", "boolean", "number", "integer", "string", "array", "object"})
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


def checkable(schema: Any) -> Schema:
    """A new schema that accepts everything the given one accepts, and is safe and quick to compile."""
    return _Reduction(schema).reduce(schema, 0)


class _Reduction:
    """One reduction; the budget of nodes bounds the code that is generated from it."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._nodes = MAX_NODES

    def reduce(self, schema: Any, level: int) -> Schema:
        """The checkable part of one schema; `{}` accepts everything."""
        self._nodes -= 1
        schema = resolve(self._root, schema)
        if not isinstance(schema, dict) or level > MAX_LEVELS or self._nodes <= 0:
            return {}
        found: Schema = {}
        for keyword, read in self._keywords(schema, level):
            if keyword in schema:
                found.update(read(schema[keyword]))
        self._close(schema, found, level)
        return found

    def _keywords(self, schema: Schema, level: int) -> list[tuple[str, Callable[[Any], Schema]]]:
        return [
            ("type", _read_type),
            ("enum", self._read_enum),
            ("const", lambda value: self._read_enum([value])),
            *((name, _number_reader(name)) for name in _BOUNDS),
            *((name, _size_reader(name)) for name in _SIZES),
            ("items", lambda value: self._read_items(value, level) if "prefixItems" not in schema else {}),
            ("properties", lambda value: self._read_properties(value, level)),
            ("allOf", lambda value: self._read_branches("allOf", value, level)),
            ("oneOf", lambda value: self._read_branches("anyOf", value, level)),
            ("anyOf", lambda value: self._read_branches("anyOf", value, level)),
        ]

    def _read_enum(self, values: Any) -> Schema:
        if not isinstance(values, list) or len(values) > MAX_CHOICES:
            return {}
        self._nodes -= len(values)
        plain = all(value is None or isinstance(value, (str, bool, int)) for value in values)
        return {"enum": list(values)} if plain and values else {}

    def _read_items(self, value: Any, level: int) -> Schema:
        items = self.reduce(value, level + 1)
        return {"items": items} if items else {}

    def _read_properties(self, value: Any, level: int) -> Schema:
        if not isinstance(value, dict) or len(value) > MAX_NODES:
            return {}
        return {"properties": {name: self.reduce(item, level + 1) for name, item in value.items() if type(name) is str}}

    def _read_branches(self, keyword: str, value: Any, level: int) -> Schema:
        """Only one of several may fit: that is left to the tool, because a weaker copy could fit twice."""
        if not isinstance(value, list) or not value:
            return {}
        branches = [self.reduce(branch, level + 1) for branch in value]
        return {keyword: branches} if keyword == "allOf" or all(branches) else {}

    def _close(self, schema: Schema, found: Schema, level: int) -> None:
        """Which properties must and may be there; only where every name is known to the copy."""
        names = set(found.get("properties", ()))
        complete = "patternProperties" not in schema and ("properties" in found or "properties" not in schema)
        required = schema.get("required")
        if isinstance(required, list):
            wanted = dict.fromkeys(name for name in required if type(name) is str)
            if wanted:
                found["required"] = list(wanted)
        if not complete or not names.issuperset(found.get("required", ())):
            return
        additional = schema.get("additionalProperties")
        if additional is False:
            found["additionalProperties"] = False
        elif isinstance(additional, dict) and (inner := self.reduce(additional, level + 1)):
            found["additionalProperties"] = inner


def _read_type(value: Any) -> Schema:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
        return {}
    return {"type": names[0] if len(names) == 1 else list(dict.fromkeys(names))}


def _number_reader(keyword: str) -> Callable[[Any], Schema]:
    def read(value: Any) -> Schema:
        return {keyword: value} if type(value) in (int, float) and abs(value) < 1e300 else {}  # NaN is not less

    return read


def _size_reader(keyword: str) -> Callable[[Any], Schema]:
    return lambda value: {keyword: value} if type(value) is int and 0 <= value < 2**53 else {}
