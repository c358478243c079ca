"""The shape of one value. However large the value is, only a bounded part of it is looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ot.shapes import shape
from ot.values import Audio, Image, Resource

MOST_LOOKED_AT = 250  # places in one value
MOST_ITEMS = 16  # of one list
MOST_TEXT = 1024 * 1024  # characters of JSON text that are parsed
SHORT_TEXT = 16 * 1024  # characters that are parsed while somebody waits
_FEW = 8  # values of a dict whose names are data
_ALIKE = 4  # dicts that all have the same names: a table by name

_LONGEST_NAME = 39
_MOST_WORDS = 4
_LONGEST_WORD = 20
_MOST_DIGITS = 4
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
_OWN_WORDS = frozenset({shape.TEXT})  # in place of any name that is data

_KINDS: dict[type, str] = {
    str: shape.TEXT,
    int: "int",
    float: "float",
    bool: "bool",
    type(None): shape.NONE,
    bytes: "bytes",
    Image: "Image",
    Audio: "Audio",
    Resource: "Resource",
}
_PLAIN = {kind: shape.Shape(frozenset({name})) for kind, name in _KINDS.items()}
_OTHER = shape.Shape(frozenset({shape.ANY}))
_EMPTY_TEXT = shape.Shape(frozenset({shape.EMPTY_TEXT}))
_UNSEEN = {shape.DICT: shape.Shape(frozenset({shape.DICT})), shape.LIST: shape.Shape(frozenset({shape.LIST}))}

KINDS = frozenset({*_KINDS.values(), shape.ANY, shape.DICT, shape.LIST, shape.EMPTY_TEXT})
"""Every kind that a shape can name."""


def shape_of(value: object) -> shape.Shape:
    return _Look().look(value, shape.MOST_LEVELS)


def shape_of_text(text: str) -> shape.Shape:
    """Return the shape of text: that of what is in it, where it is JSON of an object or a list."""
    if len(text) <= MOST_TEXT and text.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return _PLAIN[str]
        return shape.Shape(json=_Look().look(found, shape.MOST_LEVELS - 1)) if found else _EMPTY_TEXT
    return _PLAIN[str]


def is_name(key: object) -> bool:
    """True for a key that may be shown: a short name of a few words. All others are data.

    A server chooses its keys, and a model reads them: no sentence, no foreign letters that look like others, no number
    of an order or a person.
    """
    return type(key) is str and len(key) <= _LONGEST_NAME and _is_short_name(key)


@lru_cache(maxsize=4096)
def _is_short_name(key: str) -> bool:
    if _NAME.fullmatch(key) is None or key in _OWN_WORDS:
        return False
    words = _WORD.findall(key)
    return (
        sum(map(str.isdigit, key)) <= _MOST_DIGITS
        and len(words) <= _MOST_WORDS
        and all(len(word) <= _LONGEST_WORD for word in words)
    )


class _Look:
    """One look at one value; plain values are always told, lists and dicts while there is something left."""

    def __init__(self) -> None:
        self._left = MOST_LOOKED_AT

    def look(self, value: object, levels: int) -> shape.Shape:
        self._left -= 1
        plain = _PLAIN.get(type(value))
        if plain is not None:
            return plain
        unseen = levels == 0 or self._left <= 0
        if isinstance(value, dict):
            return _UNSEEN[shape.DICT] if unseen else shape.Shape(fields=self._fields(value, levels - 1))
        if isinstance(value, (list, tuple)):
            return _UNSEEN[shape.LIST] if unseen else shape.Shape(items=self._all(_sample(value), levels - 1))
        return _OTHER

    def _fields(self, value: Mapping[object, object], levels: int) -> shape.Fields:
        if not value:
            return shape.Fields(empty=True)
        if len(value) > shape.MOST_ALWAYS or _is_table(value):
            return shape.Fields(others=self._all(islice(value.values(), _FEW), levels), closed=True)
        named = {str(key): item for key, item in value.items() if is_name(key)}
        data = [item for key, item in value.items() if key not in named]
        others = self._all(islice(data, _FEW), levels) if data else None
        return shape.Fields(self._named(named, levels), others=others)

    def _named(self, named: Mapping[str, object], levels: int) -> dict[str, shape.Shape]:
        """Look at plain values first, then at the others, each of which gets an equal share of what is left."""
        found = {name: self.look(item, levels) for name, item in named.items() if type(item) in _PLAIN}
        waiting = [name for name in named if name not in found]
        for place, name in enumerate(waiting):
            left = self._left
            share = self._left = left // (len(waiting) - place)
            found[name] = self.look(named[name], levels)
            self._left += left - share
        return found

    def _all(self, values: Iterable[object], levels: int) -> shape.Shape:
        found = shape.NOTHING
        for value in values:
            if self._left <= 0 and found is not shape.NOTHING:
                break
            found = shape.merge(found, self.look(value, levels))
        return found


def _sample(items: Sequence[object]) -> Iterable[object]:
    """Return the first items, and a few from all over the rest, the last among them."""
    if len(items) <= MOST_ITEMS:
        return items
    half = MOST_ITEMS // 2
    rest = len(items) - half
    return (items[place] for place in (*range(half), *(half - 1 + rest * turn // half for turn in range(1, half + 1))))


def _is_table(value: Mapping[object, object]) -> bool:
    """True for rows by name: several dicts that all have the same keys."""
    rows = iter(value.values())
    first = next(rows)
    if len(value) < _ALIKE or not isinstance(first, dict) or not 0 < len(first) <= shape.MOST_ALWAYS:
        return False
    return all(isinstance(row, dict) and row.keys() == first.keys() for row in rows)
