"""Checkers of values, and the part of a JSON Schema that they check: weaker than the whole, never wrongly strict.

Schemas also come from other servers, and the checker turns a schema into Python code. So it never sees theirs: it
sees a copy. What is left out (patterns, formats, conditions, remote references, anything past the size limits) is for
the tool to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NoReturn

from mcp_core.json_types import Json, JsonObject, Schema, mapping_of
from ot.registry.schema_copy import NUMBERS, SIZES, Reader, SchemaCopy, names_in, read_size, read_type

MAX_NODES = 1000
MAX_CHOICES = 200


def checkable(schema: Schema) -> JsonObject:
    """Return a new schema that accepts everything the given one accepts, and is safe and quick to compile."""
    return _CheckableCopy(schema).copy(schema)


def _read_enum(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    values = [value] if keyword == "const" else value
    if not isinstance(values, list) or len(values) > MAX_CHOICES:
        return {}
    copy.nodes -= len(values)
    plain = all(value is None or isinstance(value, (str, bool, int)) for value in values)
    return {"enum": list(values)} if plain and values else {}


def _read_items(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    items = copy.copy(value, level + 1)
    return {"items": items} if items else {}


def _read_properties(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    if not isinstance(value, dict) or len(value) > MAX_NODES:
        return {}
    return {"properties": {name: copy.copy(item, level + 1) for name, item in value.items() if type(name) is str}}


def _read_branches(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    """Only one of several may fit: that is left to the tool, because a weaker copy could fit twice."""
    if not isinstance(value, list) or not value:
        return {}
    branches: list[Json] = [copy.copy(branch, level + 1) for branch in value]
    if keyword == "allOf":
        return {"allOf": branches}
    return {"anyOf": branches} if all(branches) else {}


class _CheckableCopy(SchemaCopy):
    max_nodes = MAX_NODES
    max_levels = 8  # Python refuses to compile blocks nested more than twenty deep
    readers: ClassVar[Mapping[str, Reader]] = {
        "type": read_type,
        "enum": _read_enum,
        "const": _read_enum,
        **NUMBERS,
        **SIZES,
        "minProperties": read_size,
        "maxProperties": read_size,
        "items": _read_items,
        "properties": _read_properties,
        "allOf": _read_branches,
        "oneOf": _read_branches,
        "anyOf": _read_branches,
    }

    def finish(self, schema: Schema, found: JsonObject, level: int) -> None:
        """Say which properties must and may be there; only where every name is known to the copy."""
        if "prefixItems" in schema:
            found.pop("items", None)
        names = set(mapping_of(found.get("properties")))
        complete = "patternProperties" not in schema and ("properties" in found or "properties" not in schema)
        required = names_in(schema.get("required"))
        if required:
            found["required"] = [*required]
        if not complete or not names.issuperset(required):
            return
        additional = schema.get("additionalProperties")
        if additional is False:
            found["additionalProperties"] = False
        elif isinstance(additional, dict) and (inner := self.copy(additional, level + 1)):
            found["additionalProperties"] = inner


Check = Callable[[object], object]
"""Raises ValueError, or one that holds all failures, for a value that does not fit its schema."""


def compile_check(schema: JsonObject, *, fast_fail: bool) -> Check:
    import fastjsonschema  # noqa: PLC0415 - start-up path: a server that was not called yet needs no schema compiler

    compiled: Check = fastjsonschema.compile(
        schema,
        handlers=_NoHandlers(),
        use_default=False,
        use_formats=False,
        detailed_exceptions=not fast_fail,
        fast_fail=fast_fail,
    )
    return compiled


class _NoHandlers(dict[str, Callable[[str], NoReturn]]):
    """A second lock on a closed door: the schema holds no reference, and none would be fetched."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], NoReturn]:
        def refuse(address: str) -> NoReturn:
            raise ValueError(f"a schema may not refer to {address}")

        return refuse
