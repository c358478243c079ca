"""Plain JSON: the values that may cross between an extension and the server, and clear errors for the others."""

from __future__ import annotations

import json
from collections.abc import Collection

MAX_DEPTH = 200
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT = frozenset({str})
# Circles are found by `_is_plain`, which has no end in one.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)

_ADVICE = {
    "bytes": "decode it, or use base64",
    "bytearray": "decode it, or use base64",
    "date": "use .isoformat()",
    "datetime": "use .isoformat()",
    "time": "use .isoformat()",
    "Decimal": "use str() or float()",
    "set": "use sorted() or list()",
    "frozenset": "use sorted() or list()",
    "coroutine": "it was not awaited",
}


_GENERAL_ADVICE = "use text, numbers, lists and dicts"


class NotJsonError(TypeError):
    """A value that JSON cannot express: the problem, and where it is."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where} {reason}")
        self.where = where
        self.reason = reason


def encode(value: object, name: str = "the result") -> str:
    """Write a value as ASCII JSON; raises NotJsonError, which calls the value `name`.

    Tuples become lists. Keys that are not text are refused, for JSON would silently make text of them.
    """
    try:
        if not _is_plain(value):
            _refuse_first_problem(value, name, 0)
        return _ENCODER.encode(value)
    except RecursionError:
        raise NotJsonError(name, f"is nested deeper than {MAX_DEPTH} levels, or refers to itself") from None
    except ValueError as error:  # an integer with more digits than Python writes
        raise NotJsonError(name, f"cannot be written as JSON: {error}") from None


def _is_plain(value: object) -> bool:
    """True if all of it has one of JSON's own types; looks at flat lists and dicts without a loop of its own."""
    if type(value) in _SCALARS:
        return True
    if type(value) is dict:
        return _TEXT.issuperset(map(type, value)) and _all_plain(value.values())
    return (type(value) is list or type(value) is tuple) and _all_plain(value)


def _all_plain(items: Collection[object]) -> bool:
    return _SCALARS.issuperset(map(type, items)) or all(map(_is_plain, items))


def _refuse_first_problem(value: object, where: str, depth: int) -> None:
    """The careful way: subclasses of JSON's types pass, anything else is refused with its place."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJsonError(where, f"has the key {_brief(key)} of type {_name(key)}; JSON keys are text")
            _refuse_first_problem(item, f"{where}[{key!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_first_problem(item, f"{where}[{index}]", depth + 1)
    elif not isinstance(value, (str, int, float)) and value is not None:
        advice = "use str()" if hasattr(value, "__fspath__") else _ADVICE.get(type(value).__name__, _GENERAL_ADVICE)
        raise NotJsonError(where, f"is a {_name(value)}, which is not JSON; {advice}")


def _name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - foreign code, asked only for a nicer sentence
        return "(unreadable)"
    return text if len(text) <= 80 else f"{text[:80]}..."
