"""Values on their way between an extension and the server: the vocabulary of a run (`ot_kernel.values`).

Most values are plain JSON and stand for themselves. They need no look at each item: C code writes them, and the
vocabulary is not even loaded. `"$"` in a line may be a tag; a line without it is plain.
"""

from __future__ import annotations

import json
from collections.abc import Collection

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from typing import Any

TAG = b'"$"'
_TAG = TAG.decode("ascii")
_INTEGER = '{"$":"int","v":"'
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT = frozenset({str})
# Circles are found by `_is_plain`, which has no end in one.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)


class NoValueError(TypeError):
    """A value that cannot cross: the problem, and where it is."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


def encode(value: object, name: str = "the result") -> str:
    """Write a value as ASCII JSON, tagged where it is not plain; raises NoValueError, which calls the value `name`."""
    try:
        if _is_plain(value):
            text = _ENCODER.encode(value)
            if _TAG not in text:
                return text
    except (RecursionError, ValueError):  # a circle; an integer with more digits than Python writes
        pass
    return _encode_tagged(value, name)


def decode(value: object) -> Any:
    """Return what an encoded value stands for; raises ValueError for anything that `encode` does not write."""
    from ot_kernel.values import decode as decode_tagged  # noqa: PLC0415 - most workers never need the vocabulary

    return decode_tagged(value)


def is_plain(value: object) -> bool:
    """True if a value is plain JSON."""
    try:
        return _is_plain(value)
    except RecursionError:
        return False


def _encode_tagged(value: object, name: str) -> str:
    from ot_kernel.values import MAX_NUMBER, UnsupportedValueError, dumps  # noqa: PLC0415 - most workers never need the vocabulary

    try:
        text = dumps(value, where=name)
    except UnsupportedValueError as error:
        raise NoValueError(error.where, error.reason) from None
    # A kernel may write a longer number, of which only the beginning is shown; here nobody would read it.
    if len(text) > MAX_NUMBER and any(rest.find('"') > MAX_NUMBER for rest in text.split(_INTEGER)[1:]):
        raise NoValueError(name, f"a number of more than {MAX_NUMBER:,} digits")
    return text


def _is_plain(value: object) -> bool:
    """True if all of it has one of JSON's own types; looks at flat lists and dicts without a loop of its own."""
    if type(value) in _SCALARS:
        return True
    if type(value) is dict:
        return _TEXT.issuperset(map(type, value)) and _all_plain(value.values())
    return type(value) is list and _all_plain(value)


def _all_plain(items: Collection[object]) -> bool:
    return _SCALARS.issuperset(map(type, items)) or all(map(_is_plain, items))
