"""A shape as text: `{items: [{id: int, labels?: [str]}], total: int}`, as much of it as there is room for."""

from __future__ import annotations

from ot.shapes.shape import DICT, EMPTY_TEXT, LIST, NONE, NOTHING, TEXT, Fields, Shape

UNKNOWN = "…"
_VIEWS = ((7, 60), (5, 60), (4, 60), *((levels, names) for levels in (3, 2, 1) for names in (60, 30, 16, 8, 4)))
"""Levels and names of a dict that are shown, from much to little."""


def describe_shape(shape: Shape, *, room: int) -> str:
    """Write a shape, with fewer levels and names where it is longer than the room there is."""
    text = UNKNOWN
    for levels, names in _VIEWS:
        text = _write(shape, levels, names)
        if len(text) <= room:
            return text
    return text


def _write(shape: Shape, levels: int, names: int) -> str:
    parts = []
    if shape.fields is not None or DICT in shape.kinds:
        parts.append(_write_fields(shape.fields, levels, names) if shape.fields is not None and levels else "{…}")
    if shape.items is not None or LIST in shape.kinds:
        parts.append(f"[{_write(shape.items or NOTHING, levels - 1, names) if levels else UNKNOWN}]")
    kinds = set(shape.kinds) - {DICT, LIST, NONE, EMPTY_TEXT}
    if shape.json is not None or EMPTY_TEXT in shape.kinds:
        kinds.add(TEXT)
    if "float" in kinds:
        kinds -= {"int"}
    parts += sorted(kinds)
    if NONE in shape.kinds:
        parts.append(NONE)
    return " | ".join(parts) or UNKNOWN


def _write_fields(fields: Fields, levels: int, names: int) -> str:
    optional = "?" if fields.empty else ""
    always = [f"{name}{optional}: {_write(shape, levels - 1, names)}" for name, shape in sorted(fields.always.items())]
    sometimes = [f"{name}?: {_write(shape, levels - 1, names)}" for name, shape in sorted(fields.sometimes.items())]
    shown = [*always, *sometimes]
    if len(shown) > names:
        shown = [*shown[:names], UNKNOWN]
    if fields.others is not None:
        shown.append(f"{TEXT}: {_write(fields.others, levels - 1, names)}")
    return f"{{{', '.join(shown)}}}"
