"""Shape: the types, keys and nesting that values had in common, and how two shapes become one.

Merging forms a semilattice: the order of the values does not matter, nor does seeing one twice. That is why what two
processes have learnt can be put together, and why what makes a name count as data must never become untrue again:
a name that is missing in some dicts is optional, and where too many are, or where no two dicts agree, all those names
are data.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

MOST_ALWAYS = 40  # names of one dict; one with more has data for names
MOST_SOMETIMES = 20  # names that some dicts have and others lack
MOST_LEVELS = 7
MOST_NODES = 300

DICT, LIST = "dict", "list"
"""The kinds of values whose inside was not looked at."""

TEXT, NONE, ANY = "str", "None", "Any"
EMPTY_TEXT = "text"
"""The kind of text that says `[]` or `{}`: that is JSON, and what other ways to write a value say too."""


class Fields(NamedTuple):
    """The fields that dicts have in common; no names, no others and not closed means that all of them were empty."""

    always: Mapping[str, Shape] = MappingProxyType({})
    sometimes: Mapping[str, Shape] = MappingProxyType({})
    others: Shape | None = None  # the values of names that are data
    closed: bool = False  # a name that some dicts lack is data
    empty: bool = False  # some had nothing in them

    @property
    def blank(self) -> bool:
        return not (self.always or self.sometimes or self.closed) and self.others is None


class Shape(NamedTuple):
    """The kinds of values seen in one place, and the insides of lists, dicts and JSON text; none: nothing was seen."""

    kinds: frozenset[str] = frozenset()
    items: Shape | None = None
    fields: Fields | None = None
    json: Shape | None = None  # what was in text that is JSON; text that is not has the kind `str`

    @property
    def always_json(self) -> bool:
        """True if it is all text, and all of it JSON."""
        others = self.kinds - {EMPTY_TEXT} or self.items or self.fields
        return self.json is not None and not others


NOTHING = Shape()


def merge(one: Shape, other: Shape) -> Shape:
    if one is other or other is NOTHING:
        return one
    if one is NOTHING:
        return other
    return Shape(
        one.kinds | other.kinds,
        merge_known(one.items, other.items),
        _merge_fields(one.fields, other.fields),
        merge_known(one.json, other.json),
    )


def merge_known(one: Shape | None, other: Shape | None) -> Shape | None:
    """Return the shape that covers both, of which either may be missing."""
    return other if one is None else one if other is None else merge(one, other)


def _merge_fields(one: Fields | None, other: Fields | None) -> Fields | None:
    if one is None or other is None:
        return one or other
    empty = one.empty or other.empty
    if one.blank or other.blank:
        return (other if one.blank else one)._replace(empty=empty)
    always = {name: merge(shape, other.always[name]) for name, shape in one.always.items() if name in other.always}
    sometimes: dict[str, Shape] = {}
    for names in (one.always, one.sometimes, other.always, other.sometimes):
        for name, shape in names.items():
            if name not in always:
                sometimes[name] = merge(sometimes.get(name, NOTHING), shape)
    closed = one.closed or other.closed or len(sometimes) > MOST_SOMETIMES or (not always and len(sometimes) > 1)
    others = merge_known(one.others, other.others)
    if closed:  # names that some dicts lack are data
        for shape in sometimes.values():
            others = merge_known(others, shape)
    return Fields(always, {} if closed else sometimes, others, closed, empty)


def within_bounds(shape: Shape) -> Shape:
    """Return a shape with few enough nodes: the same one, or one that says nothing of its deepest levels."""
    for levels in range(MOST_LEVELS, 0, -1):
        shape = trim(shape, levels)
        if count_nodes(shape) <= MOST_NODES:
            return shape
    return trim(shape, 0)


def trim(shape: Shape, levels: int) -> Shape:
    """Return a shape that says nothing of what lies so many levels down."""
    if levels == 0:
        inside = {DICT: shape.fields, LIST: shape.items, TEXT: shape.json}
        return Shape(shape.kinds | {kind for kind, known in inside.items() if known is not None})
    return Shape(
        shape.kinds,
        _trim_known(shape.items, levels - 1),
        _trim_fields(shape.fields, levels - 1),
        _trim_known(shape.json, levels - 1),
    )


def _trim_known(shape: Shape | None, levels: int) -> Shape | None:
    return None if shape is None else trim(shape, levels)


def _trim_fields(fields: Fields | None, levels: int) -> Fields | None:
    if fields is None:
        return None
    return fields._replace(
        always={name: trim(shape, levels) for name, shape in fields.always.items()},
        sometimes={name: trim(shape, levels) for name, shape in fields.sometimes.items()},
        others=_trim_known(fields.others, levels),
    )


def count_nodes(shape: Shape) -> int:
    return 1 + sum(map(count_nodes, _inside(shape)))


def _inside(shape: Shape) -> list[Shape]:
    fields = shape.fields or Fields()
    found = [*fields.always.values(), *fields.sometimes.values()]
    return found + [known for known in (shape.items, fields.others, shape.json) if known is not None]


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
