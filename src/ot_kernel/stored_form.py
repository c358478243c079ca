"""The form in which a large result is kept: text as it is, every other value as tagged JSON with one item per line.

So a page of a list is read without decoding the rest of it: the first line opens the value, the last one closes it,
and the first, any items, and the last together are again a value. JSON never has a line break of its own inside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

from ot_kernel.values import Encoded, Value, loads

TEXT, VALUE = "text", "value"
_CHUNK = 1000  # items written at once
_SLICE = 1024 * 1024  # characters of text encoded at once
LISTS = frozenset({"tuple", "set", "frozenset", "dict"})  # kinds whose content is a list

_BREAK = ",\n"
_SCALARS = frozenset({str, int, float, bool, type(None)})

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_to_lines = json.JSONEncoder(separators=(_BREAK, ":"), check_circular=False).encode  # only of what holds no container


def kind_of(encoded: object) -> str:
    """Name the form of an encoded value: TEXT or VALUE."""
    return TEXT if _text_of(encoded) is not None else VALUE


def write_form(encoded: object) -> Iterator[bytes]:
    """Write the stored form of an encoded value, piece by piece."""
    text = _text_of(encoded)
    if text is not None:
        for start in range(0, len(text), _SLICE):
            yield text[start : start + _SLICE].encode("utf-8", "surrogatepass")
        return
    match encoded:
        case {"$": "record", "v": [name, dict() as fields]}:
            yield from _container(f'{{"$":"record","v":[{_to_json(name)},{{', _field_lines(fields), "}]}")
        case {"$": str(tag), "v": list() as items} if tag in LISTS:
            yield from _container(f'{{"$":"{tag}","v":[', _item_lines(items), "]}")
        case dict() if "$" not in encoded:
            yield from _container("{", _field_lines(encoded), "}")
        case list():
            yield from _container("[", _item_lines(encoded), "]")
        case _:
            yield _to_json(encoded).encode("ascii")


def read_form(data: bytes, kind: str) -> Value:
    """Read the value back; raises ValueError where the form is broken."""
    if kind != TEXT:
        return loads(data)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # what a program printed may be anything
        return data.decode("utf-8", "replace")


def _text_of(encoded: object) -> str | None:
    if isinstance(encoded, str):
        return encoded
    match encoded:
        case {"$": "str", "v": str(text)}:
            return text
    return None


def _item_lines(items: list[Encoded]) -> Iterator[str]:
    """Write the lines of a list, a chunk at a time."""
    for start in range(0, len(items), _CHUNK):
        chunk = items[start : start + _CHUNK]
        if _SCALARS.issuperset(map(type, chunk)):
            yield _to_lines(chunk)[1:-1]
        else:
            yield _BREAK.join(map(_to_json, chunk))


def _field_lines(fields: dict[str, Encoded]) -> Iterator[str]:
    """Write the lines of a mapping, a chunk at a time."""
    waiting = iter(fields.items())
    while chunk := dict(islice(waiting, _CHUNK)):
        if _SCALARS.issuperset(map(type, chunk.values())):
            yield _to_lines(chunk)[1:-1]
        else:
            yield _BREAK.join(f"{_to_json(key)}:{_to_json(item)}" for key, item in chunk.items())


def _container(opening: str, chunks: Iterable[str], closing: str) -> Iterator[bytes]:
    yield f"{opening}\n".encode("ascii")
    separator = ""
    for chunk in chunks:
        yield (separator + chunk).encode("ascii")
        separator = _BREAK
    yield (f"\n{closing}" if separator else closing).encode("ascii")
