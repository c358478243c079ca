"""Python values of every kind as plain JSON: whatever a tool returns, there is something valid to send."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import islice

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from mcp_core.json_types import Json

MAX_DEPTH = 100  # common JSON parsers give up at 200
MAX_ITERATED = 10_000  # items taken from an iterator, which may have no end
MAX_ITEMS = 1_000_000  # in all: lists that share their parts can be small in memory and endless on paper
_EXACT = range(-(2**63), 2**64)  # integers that JSON parsers of other languages can hold


def to_json_value(value: object) -> Json:
    """Return the nearest JSON value; never raises, whatever the value is or does.

    Values that JSON lacks become text: dates in ISO form, bytes in base64, `NaN` and `Infinity` by name, integers past
    64 bits by their digits, unknown objects by their own text. Named tuples, dataclasses and models are objects.
    What is circular, too deep or too much is replaced by a note in angle brackets.
    """
    try:
        return _Walk().visit(value, 0)
    except RecursionError:  # the caller itself was deep already
        return f"<{type(value).__name__}: too deep>"


def write_json(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False)


class _Walk:
    """One walk through one value: what it is inside of, and how much it has seen."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._seen = 0

    def visit(self, value: object, depth: int) -> Json:
        self._seen += 1
        if value is None or value is True or value is False:
            return value
        try:
            return self._visit(value, depth)
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001 - a foreign class may raise anything while it is looked at
            return describe(value)

    def _visit(self, value: object, depth: int) -> Json:
        match value:
            case Enum():
                return self.visit(value.value, depth)
            case str():
                return encodable(str.__str__(value))
            case int() | float():
                return _number(value)
            case bytes() | bytearray() | memoryview():
                return base64.b64encode(bytes(value)).decode()
            case BaseException():
                return {"type": type(value).__name__, "message": describe(value)}
        if id(value) in self._path:
            return f"<{type(value).__name__}: circular>"
        if depth >= MAX_DEPTH or self._seen > MAX_ITEMS:
            return f"<{type(value).__name__}: too {'deep' if depth >= MAX_DEPTH else 'much'}>"
        self._path.add(id(value))
        try:
            return self._inside(value, depth + 1)
        finally:
            self._path.discard(id(value))

    def _inside(self, value: object, depth: int) -> Json:
        fields = value if isinstance(value, Mapping) else _fields_of(value)
        if fields is not None:
            return self._object(fields.items(), depth)
        if isinstance(value, AbstractSet):
            return sorted((self.visit(item, depth) for item in value), key=json.dumps)
        if isinstance(value, Iterator) and not hasattr(value, "read"):  # reading a file could wait for ever
            return self._drain(value, depth)
        return self._array(value, depth) if isinstance(value, Collection) else _leaf(value)

    def _object(self, items: Iterable[tuple[object, object]], depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, item in items:
            plain = self.visit(key, depth)
            name = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
            if name in found:  # 1 and "1" are two keys
                name = f"{name} ({type(key).__name__})"
            while name in found:
                name += "'"
            found[name] = self.visit(item, depth)
            if self._seen > MAX_ITEMS:
                break
        return found

    def _array(self, items: Iterable[object], depth: int) -> list[Json]:
        found = []
        for item in items:
            found.append(self.visit(item, depth))
            if self._seen > MAX_ITEMS:
                found.append("<too much>")
                break
        return found

    def _drain(self, items: Iterator[object], depth: int) -> list[Json]:
        found: list[Json] = []
        try:
            found.extend(self.visit(item, depth) for item in islice(items, MAX_ITERATED))
        except RecursionError:
            raise
        except Exception as error:  # noqa: BLE001 - what came before the failure is still worth sending
            return [*found, f"<{type(error).__name__}: {describe(error)}>"]
        return [*found, f"<stopped after {MAX_ITERATED} items>"] if len(found) == MAX_ITERATED else found


def describe(value: object) -> str:
    """Name an object in its own words where it has some; never raises."""
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return f"<{kind.__name__}>"  # the inherited form only adds an address
    try:
        return encodable(str(value))
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return f"<{kind.__name__}>"


def _fields_of(value: object) -> dict[str, object] | None:
    if isinstance(value, BaseModel):
        try:  # its own idea of its fields may leave out or mask some
            dumped = value.model_dump(by_alias=True, warnings=False)
        except (ValueError, TypeError, AttributeError, RecursionError):  # circular, or built without validation
            dumped = None
        return dumped if isinstance(dumped, dict) else dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _leaf(value: object) -> Json:
    if isinstance(value, numbers.Integral):
        return _number(int(value))
    if isinstance(value, numbers.Real) and hasattr(value, "__float__") and not hasattr(value, "numerator"):
        return _number(float(value))
    if hasattr(value, "__iter__"):  # pydantic would drain it, and it may have no end
        return describe(value)
    try:
        plain = to_jsonable_python(value, fallback=describe, inf_nan_mode="strings", bytes_mode="base64")
    except (ValueError, TypeError, RecursionError):
        return describe(value)
    return encodable(plain) if isinstance(plain, str) else describe(value)


def _number(value: float) -> Json:
    if isinstance(value, float):
        plain = float.__float__(value)
        if math.isnan(plain):
            return "NaN"
        return plain if math.isfinite(plain) else "Infinity" if plain > 0 else "-Infinity"
    whole = int.__int__(value)
    if whole in _EXACT:
        return whole
    return str(whole) if whole.bit_length() < 10_000 else hex(whole)  # Python writes no more than 4300 digits


def encodable(text: str) -> str:
    """Write lone surrogates as escapes: UTF-8 has no form for them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
