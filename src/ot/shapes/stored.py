"""Shapes as JSON. What is read back may be anything: only what could have been learnt is taken over."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_core.json_types import JsonObject
from ot.shapes.deriving import KINDS, is_name
from ot.shapes.shape import MOST_ALWAYS, MOST_LEVELS, MOST_SOMETIMES, Fields, Shape, within_bounds


def store(shape: Shape) -> JsonObject:
    """Write a shape as JSON."""
    stored: JsonObject = {}
    if shape.kinds:
        stored["kinds"] = [*sorted(shape.kinds)]
    for key, inside in (("items", shape.items), ("json", shape.json)):
        if inside is not None:
            stored[key] = store(inside)
    if shape.fields is not None:
        stored["fields"] = _store_fields(shape.fields)
    return stored


def _store_fields(fields: Fields) -> JsonObject:
    stored: JsonObject = {}
    for key, names in (("always", fields.always), ("sometimes", fields.sometimes)):
        if names:
            stored[key] = {name: store(shape) for name, shape in names.items()}
    if fields.others is not None:
        stored["others"] = store(fields.others)
    return stored | {key: True for key in ("closed", "empty") if getattr(fields, key)}


def restore(stored: object) -> Shape:
    """Read a shape; raises ValueError or TypeError for anything that was never one."""
    return within_bounds(_restore(stored, MOST_LEVELS))


def _restore(stored: object, levels: int) -> Shape:
    found = _mapping(stored)
    kinds = found.get("kinds", [])
    if levels < 0 or not isinstance(kinds, list) or not KINDS.issuperset(kinds):
        raise ValueError("not a shape")
    return Shape(
        frozenset(kinds),
        _optional(found.get("items"), levels),
        _restore_fields(_mapping(found["fields"]), levels - 1) if "fields" in found else None,
        _optional(found.get("json"), levels),
    )


def _restore_fields(found: Mapping[str, object], levels: int) -> Fields:
    always = _restore_names(found.get("always", {}), MOST_ALWAYS, levels)
    sometimes = _restore_names(found.get("sometimes", {}), MOST_SOMETIMES, levels)
    others = _optional(found.get("others"), levels + 1)
    return Fields(always, sometimes, others, found.get("closed") is True, found.get("empty") is True)


def _restore_names(stored: object, most: int, levels: int) -> dict[str, Shape]:
    names = _mapping(stored)
    if len(names) > most or not all(map(is_name, names)):
        raise ValueError("names that nobody has learnt")
    return {name: _restore(shape, levels) for name, shape in names.items()}


def _optional(stored: object, levels: int) -> Shape | None:
    return None if stored is None else _restore(stored, levels - 1)


def _mapping(stored: object) -> Mapping[str, object]:
    if not isinstance(stored, dict):
        raise TypeError("not an object")
    return stored
