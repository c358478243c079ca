"""Values made to fit what a schema asks for, where nothing can be lost: a path for a string, a tuple for an array."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from mcp_core.json_types import Schema, list_of, mapping_of
from ot.values import Arguments, ToolValue

PLAIN = frozenset({str, int, bool, type(None)})
"""Types that never need fitting."""


def fit(value: ToolValue, schema: Schema) -> ToolValue:
    """Return the value as the schema wants it, or itself; an unrestricted schema changes nothing."""
    if type(value) in PLAIN or not schema:
        return value
    if isinstance(value, os.PathLike):
        return str(value) if _accepts(schema, "string") else value
    if type(value) is float:
        whole = value.is_integer() and _accepts(schema, "integer") and not _accepts(schema, "number")
        return int(value) if whole else value
    if isinstance(value, (list, tuple, set, frozenset)):
        return _fit_items(value, schema)
    if isinstance(value, dict):
        return _fit_fields(value, schema)
    return value


def _fit_items(value: Sequence[ToolValue] | AbstractSet[ToolValue], schema: Schema) -> ToolValue:
    branch = _branch(schema, "array")
    if branch is None:
        return value
    items = mapping_of(branch.get("items"))
    if items and not all(type(item) in PLAIN for item in value):
        return [fit(item, items) for item in value]
    return value if isinstance(value, list) else list(value)


def _fit_fields(value: Mapping[str, ToolValue], schema: Schema) -> Arguments:
    branch = _branch(schema, "object")
    if branch is None or all(type(item) in PLAIN for item in value.values()):
        return value
    properties, rest = mapping_of(branch.get("properties")), mapping_of(branch.get("additionalProperties"))
    return {name: fit(item, mapping_of(properties.get(name, rest))) for name, item in value.items()}


def _accepts(schema: Schema, kind: str) -> bool:
    return _branch(schema, kind) is not None


def _branch(schema: Schema, kind: str) -> Schema | None:
    """Return the part of a schema that accepts this type by name."""
    types = schema.get("type")
    if types == kind or (isinstance(types, list) and kind in types):
        return schema
    branches = (_branch(mapping_of(inner), kind) for inner in list_of(schema.get("anyOf")))
    return next((found for found in branches if found is not None), None)
