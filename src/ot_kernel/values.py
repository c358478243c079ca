"""The closed vocabulary of values that cross between code and tools, as tagged JSON.

JSON's own types stand for themselves. Everything else is an object whose key `$` names its kind and whose key
`v` holds its content; a dict that has a `$` key of its own, or keys that are not strings, is tagged as well, so
no caller's data can pose as a tag. There is no pickle: decoding creates only the types named here.

Types of the standard library are found by name, so that nothing is imported for a kind nobody uses: a kernel is
forked, and every module loaded here is paid for by every fork. Workers use this file too, on Python 3.9 or newer.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import PurePath
    from typing import Any, TypeAlias
    from uuid import UUID

    from ot_kernel.project_path import ProjectPath
    from ot_kernel.rows import Column, Rows

MAX_DEPTH = 100
STAND_IN = "stand_in"  # only a preview has such values; nobody else decodes them
MANY = 5_000  # values, from which on rows travel by column
MAX_DRAINED = 10_000
MAX_NUMBER = 2**15  # hexadecimal or decimal digits: what is done with more takes time by the square of that
MAX_COLLISIONS = 1_000  # of small numbers: the powers of two share 61 hashes
MAX_LARGE_COLLISIONS = 16  # of anything that takes long to compare
_SMALL = 2**4096
# json refuses integers beyond sys.get_int_max_str_digits(); hexadecimal has no such limit.
_PLAIN_INT = 10**18


Scalar: TypeAlias = (
    "bool | int | float | complex | str | bytes | datetime | date | time | timedelta | Decimal | Fraction | UUID"
    " | PurePath | None"
)

Value: TypeAlias = (
    "Scalar | Sequence[Value] | Mapping[str, Value] | Mapping[Scalar, Value] | AbstractSet[Value]"
    " | Attachment | Resource | Rows | ProjectPath"
)
"""A value of the vocabulary: what decoding gives. A value that code only hopes is in it is an `object`."""

Encoded: TypeAlias = "dict[str, Encoded] | list[Encoded] | str | int | float | bool | None"
"""A value as JSON's types, tagged where it is not one of them; what comes from elsewhere is hostile until decoded."""

_Tagged: TypeAlias = tuple[str, object]  # a kind, and its content one level down


class UnsupportedValueError(TypeError):
    """A value outside the vocabulary: what is wrong with it, and where in the whole it sits."""

    def __init__(self, reason: str, where: str) -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason = reason
        self.where = where


class Record(dict[str, Value]):
    """A dataclass, pydantic model or named tuple that has crossed: fields by attribute and by key."""

    __slots__ = ("record_name",)

    def __init__(self, name: str, fields: Mapping[str, Value] | Iterable[tuple[str, Value]]) -> None:
        super().__init__(fields)
        self.record_name = name

    def __getattr__(self, name: str) -> Value:
        try:
            return self[name]
        except KeyError:
            fields = ", ".join(map(str, self))
            raise AttributeError(f"{self.record_name} has no field {name!r}; it has {fields}") from None

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        """Hash by fields: what was a named tuple or frozen dataclass may be a key or a member of a set."""
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"{self.record_name}({', '.join(f'{key}={value!r}' for key, value in self.items())})"


class Attachment:
    """Bytes that a client shows by themselves, with their MIME type."""

    __slots__ = ("data", "mime_type")
    default_type = "application/octet-stream"

    def __init__(self, data: bytes, mime_type: str | None = None) -> None:
        self.data = data
        self.mime_type = mime_type or self.default_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mime_type}, {len(self.data)} bytes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attachment) or type(self) is not type(other):
            return NotImplemented
        return (self.data, self.mime_type) == (other.data, other.mime_type)

    def __hash__(self) -> int:
        return hash((type(self), self.data, self.mime_type))


class Image(Attachment):
    """A picture; returned from a run, it reaches the client as an image."""

    __slots__ = ()
    default_type = "image/png"


class Audio(Attachment):
    """A sound; returned from a run, it reaches the client as audio."""

    __slots__ = ()
    default_type = "audio/wav"


class Resource:
    """A resource of an MCP server: an address, and its text or bytes if they came along."""

    __slots__ = ("data", "mime_type", "name", "text", "uri")

    def __init__(
        self,
        uri: str,
        *,
        text: str | None = None,
        data: bytes | None = None,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> None:
        self.uri = uri
        self.text = text
        self.data = data
        self.mime_type = mime_type
        self.name = name

    def __repr__(self) -> str:
        return f"Resource({self.uri!r})"


def dumps(value: object, *, where: str = "") -> str:
    """Write a value as tagged JSON, in ASCII, so that lone surrogates survive as escapes."""
    return json.dumps(encode(value, where=where), separators=(",", ":"))


def loads(text: str | bytes) -> Value:
    """Read tagged JSON back; raises ValueError for anything else."""
    try:
        return decode(json.loads(text))
    except RecursionError as error:
        raise ValueError("not a tagged value: nested too deeply") from error


def encode(value: object, *, where: str = "") -> Encoded:
    """Turn a value into JSON's types; raises UnsupportedValueError at the place that has no form."""
    try:
        return _encode(value, ())
    except UnsupportedValueError as error:
        place = where + error.where
        raise UnsupportedValueError(error.reason, place if len(place) <= 200 else f"{place[:80]}...") from None


def _encode(value: Any, parents: tuple[int, ...]) -> Encoded:
    """Encode one level. The place of something without a form is put together on the way out, when it is needed."""
    kind = type(value)
    if (
        kind is str
        or value is None
        or kind is bool
        or (kind is int and -_PLAIN_INT < value < _PLAIN_INT)
        or (kind is float and isfinite(value))
    ):
        plain: Encoded = value
        return plain
    if id(value) in parents:
        raise UnsupportedValueError("the value refers to itself", "")
    if len(parents) > MAX_DEPTH:
        raise UnsupportedValueError(f"nested deeper than {MAX_DEPTH} levels", "")
    parents = (*parents, id(value))
    if kind is list:
        return _encode_items(value, parents)
    if kind is dict:
        return _encode_dict(value, parents)
    tag, content = _tag(value)
    if tag == "enum":
        return _encode(content, parents)
    if tag == "dict":
        return _encode_dict(content, parents)
    if tag in _CONTAINERS:
        items = _encode_items(content, parents)
        return items if tag == "list" else {"$": tag, "v": items}
    return {"$": tag, "v": content}


def _encode_items(items: Iterable[object], parents: tuple[int, ...]) -> list[Encoded]:
    encoded: list[Encoded] = []
    try:
        for item in items:
            encoded.append(item if type(item) is str else _encode(item, parents))  # noqa: PERF401 - counts how far
    except UnsupportedValueError as error:
        error.where = f"[{len(encoded)}]{error.where}"
        raise
    return encoded


def _encode_dict(value: Mapping[Any, object], parents: tuple[int, ...]) -> Encoded:
    key: Any = None
    try:
        if "$" not in value and all(type(name) in _NAMES for name in value):
            fields: dict[str, Encoded] = {}
            for key, item in value.items():
                fields[key] = item if type(item) is str else _encode(item, parents)
            return fields
        pairs: list[Encoded] = []
        for key, item in value.items():
            pairs.append([_encode_key(key, parents), _encode(item, parents)])
        return {"$": "dict", "v": pairs}
    except _UnsupportedKeyError as error:
        raise UnsupportedValueError(error.reason, f" key{error.where}") from None
    except UnsupportedValueError as error:
        error.where = f"[{key!r}]{error.where}"
        raise


class _UnsupportedKeyError(UnsupportedValueError):
    """The key of a mapping, not what it stands for."""


def _encode_key(key: object, parents: tuple[int, ...]) -> Encoded:
    try:
        return _encode(key, parents)
    except UnsupportedValueError as error:
        raise _UnsupportedKeyError(error.reason, error.where) from None


def _tag(value: Any) -> tuple[str, Any]:
    """Return the kind of a value that JSON does not have, and its content one level down."""
    base: Any  # of any type at all: its own attributes tell what it is
    for base in type(value).__mro__:
        encoder = _ENCODERS.get((base.__module__, base.__qualname__))
        if encoder is not None:
            return encoder(value)
        if "__dataclass_fields__" in base.__dict__:
            names = [field.name for field in importlib.import_module("dataclasses").fields(base)]
            return _record(value, {name: getattr(value, name) for name in names if hasattr(value, name)})
        if "__pydantic_fields__" in base.__dict__:
            fields = {name: getattr(value, name) for name in base.__pydantic_fields__}
            return _record(value, fields | (getattr(value, "__pydantic_extra__", None) or {}))
        if base is tuple and hasattr(value, "_fields"):
            return _record(value, dict(zip(value._fields, value)))
        if base is range:
            return "list", _drain(iter(value))
        if base in _PLAIN_BASES:
            return _PLAIN_BASES[base](value)
    if isinstance(value, Mapping):
        return "dict", value
    if isinstance(value, Iterator) and not hasattr(value, "fileno"):
        return "list", _drain(value)
    raise UnsupportedValueError(f"a value of type {type(value).__name__} cannot be passed between code and tools", "")


def _record(value: object, fields: dict[str, object]) -> _Tagged:
    return "record", [type(value).__qualname__, fields]


def _drain(iterator: Iterator[object]) -> list[object]:
    items: list[object] = []
    for item in iterator:
        if len(items) == MAX_DRAINED:
            raise UnsupportedValueError(f"an iterator of more than {MAX_DRAINED:,} items; take a part of it", "")
        items.append(item)
    return items


def _bounded(number: Decimal) -> Decimal:
    """Return a decimal number, unless an integer made of it would never be finished."""
    if number.is_finite() and abs(number.adjusted()) > MAX_NUMBER:
        raise UnsupportedValueError(f"a number of more than {MAX_NUMBER:,} digits, written out", "")
    return number


def _text64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _rows(value: Rows) -> _Tagged:
    columns = [[kind, _encode_column(content)] for kind, content in value.columns]
    return "rows", [value.names, columns, value.count]


def _encode_column(content: bytes | str | list[object]) -> Encoded:
    if isinstance(content, list):
        return _encode_items(content, ())
    return content if isinstance(content, str) else _text64(content)


# Bases that are matched by identity, after records: subclasses such as enums and named tuples come by here.
_PLAIN_BASES: dict[type, Callable[[Any], _Tagged]] = {
    str: lambda v: ("str", str.__str__(v)),
    int: lambda v: ("int", hex(int(v))),
    float: lambda v: ("float", repr(float(v))),
    complex: lambda v: ("complex", [repr(v.real), repr(v.imag)]),
    bytes: lambda v: ("bytes", _text64(v)),
    bytearray: lambda v: ("bytes", _text64(bytes(v))),
    memoryview: lambda v: ("bytes", _text64(v.tobytes())),
    tuple: lambda v: ("tuple", v),
    set: lambda v: ("set", v),
    frozenset: lambda v: ("frozenset", v),
    list: lambda v: ("list", v),
    dict: lambda v: ("dict", v),
    Record: lambda v: ("record", [v.record_name, dict(v)]),
    Image: lambda v: ("image", [_text64(v.data), v.mime_type]),
    Audio: lambda v: ("audio", [_text64(v.data), v.mime_type]),
    Resource: lambda v: ("resource", [v.uri, v.text, None if v.data is None else _text64(v.data), v.mime_type, v.name]),
}

_ENCODERS: dict[tuple[str, str], Callable[[Any], _Tagged]] = {
    ("datetime", "datetime"): lambda v: ("datetime", v.isoformat()),
    ("datetime", "date"): lambda v: ("date", v.isoformat()),
    ("datetime", "time"): lambda v: ("time", v.isoformat()),
    ("datetime", "timedelta"): lambda v: ("timedelta", [v.days, v.seconds, v.microseconds]),
    ("decimal", "Decimal"): lambda v: ("decimal", str(_bounded(v))),
    ("enum", "Enum"): lambda v: ("enum", v.value),
    ("fractions", "Fraction"): lambda v: ("fraction", [hex(v.numerator), hex(v.denominator)]),
    ("uuid", "UUID"): lambda v: ("uuid", str(v)),
    ("pathlib", "PurePath"): lambda v: ("path", str(v)),
    ("pathlib._local", "PurePath"): lambda v: ("path", str(v)),
    ("ot_kernel.parts", "WatchedName"): lambda v: ("str", str(v)),
    ("ot_kernel.rows", "Rows"): _rows,
    ("ot_kernel.project_path", "ProjectPath"): lambda v: ("project_path", [v.project, str(v), v.attrs]),
    ("ot_kernel.stand_in", "StandIn"): lambda v: (STAND_IN, object.__getattribute__(v, "_number")),
    ("ot.values", "Unmade"): lambda v: (STAND_IN, v.number),
}

_NAMES: set[type] = {str}  # types of plain keys

_CONTAINERS = frozenset({"tuple", "set", "frozenset", "list", "record", "project_path"})


def decode(value: object) -> Value:
    """Build the value that its JSON form stands for; raises ValueError for a broken form, whatever is wrong with it."""
    try:
        return _decode(value)
    except (KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a tagged value: {error}") from error


def _decode(value: Any) -> Value:
    kind = type(value)
    if kind is list:
        return [_decode(item) for item in value]
    if kind is not dict:
        plain: Value = value
        return plain
    if "$" not in value:
        return {key: _decode(item) for key, item in value.items()}
    return _DECODERS[value["$"]](value["v"])


def _decode_members(content: Iterable[object]) -> list[Any]:
    """Decode what will be hashed. Enough numbers that share one hash, chosen on purpose, would stop the server."""
    members = [_decode(item) for item in content]
    collisions = len(members) - len({hash(member) for member in members})
    if collisions > MAX_LARGE_COLLISIONS and (collisions > MAX_COLLISIONS or not all(map(_is_small, members))):
        raise ValueError("not a tagged value: too many members share a hash")
    return members


def _is_small(member: object) -> bool:
    """True if comparing it takes no time to speak of; strings cannot be made to share a hash."""
    return type(member) in (str, float) or (type(member) is int and -_SMALL < member < _SMALL)


def _decode_dict(pairs: list[tuple[object, object]]) -> dict[Scalar, Value]:
    keys = _decode_members(key for key, _ in pairs)
    return dict(zip(keys, (_decode(item) for _, item in pairs)))


def _decode_record(content: tuple[object, dict[str, object]]) -> Record:
    name, fields = content
    decoded: Any = _decode(fields)
    return Record(_text(name), decoded.items())


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"{type(value).__name__} where text should be")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _library_type(module: str, name: str) -> Callable[[object], Value]:
    """Return a decoder that imports its type when the first such value arrives."""
    return lambda text: getattr(importlib.import_module(module), name)(text)


def _from_iso(name: str) -> Callable[[object], Value]:
    return lambda text: getattr(importlib.import_module("datetime"), name).fromisoformat(text)


def _digits(text: object) -> str:
    if len(_text(text)) > MAX_NUMBER:
        raise ValueError(f"not a tagged value: a number of more than {MAX_NUMBER:,} digits")
    return str(text)


def _decode_int(text: object) -> int:
    return int(_digits(text), 16)


def _decode_fraction(content: Iterable[str]) -> Fraction:
    """Build a fraction as it came: to reduce it would take time by the square of its length."""
    numerator, denominator = map(_decode_int, content)
    if denominator <= 0:
        raise ValueError("not a tagged value: a fraction without a positive denominator")
    fraction: Fraction = object.__new__(importlib.import_module("fractions").Fraction)
    for slot, number in (("_numerator", numerator), ("_denominator", denominator)):
        setattr(fraction, slot, number)
    return fraction


def _decode_project_path(content: list[object]) -> ProjectPath:
    project, path, attrs = map(_decode, content)
    found: ProjectPath = importlib.import_module("ot_kernel.project_path").ProjectPath(
        _text(project), _text(path), attrs
    )
    return found


def _decode_attachment(kind: type[Attachment]) -> Callable[[Any], Attachment]:
    return lambda content: kind(base64.b64decode(content[0]), _text(content[1]))


def _decode_resource(content: tuple[object, object, str | None, object, object]) -> Resource:
    uri, text, data, mime_type, name = content
    return Resource(
        _text(uri),
        text=_text_or_none(text),
        data=None if data is None else base64.b64decode(data),
        mime_type=_text_or_none(mime_type),
        name=_text_or_none(name),
    )


_DECODERS: dict[str, Callable[[Any], Value]] = {
    "int": _decode_int,
    "float": float,
    "str": _text,
    "complex": lambda v: complex(float(v[0]), float(v[1])),
    "bytes": base64.b64decode,
    "tuple": lambda v: tuple(_decode(item) for item in v),
    "set": lambda v: set(_decode_members(v)),
    "frozenset": lambda v: frozenset(_decode_members(v)),
    "dict": _decode_dict,
    "record": _decode_record,
    "image": _decode_attachment(Image),
    "audio": _decode_attachment(Audio),
    "resource": _decode_resource,
    "datetime": _from_iso("datetime"),
    "date": _from_iso("date"),
    "time": _from_iso("time"),
    "timedelta": lambda v: importlib.import_module("datetime").timedelta(*v),
    "decimal": lambda v: _bounded(importlib.import_module("decimal").Decimal(_digits(v))),
    "fraction": _decode_fraction,
    "uuid": _library_type("uuid", "UUID"),
    "path": _library_type("pathlib", "Path"),
    "project_path": _decode_project_path,
}


def accept_names(kind: type[str]) -> None:
    """Encode keys of this type as plain ones from now on."""
    _NAMES.add(kind)


def by_column(value: Any) -> Any:
    """Return a long list of similar dicts or lists as rows by column, which travel faster, anything else as it is."""
    if type(value) is not list or not value or type(value[0]) not in (dict, list):
        return value
    many = len(value) * len(value[0]) >= MANY
    return (many and importlib.import_module("ot_kernel.rows").pack_rows(value)) or value


def accept_rows() -> None:
    """Make lists of rows by column from now on. The sender must be trusted: few bytes become many values."""
    _DECODERS["rows"] = lambda content: _decode_rows(content).to_list()


def decode_fields(value: object) -> Value:
    """Build a value as `decode` does, but leave the fields of it, or arguments, that are rows by column as such."""
    if type(value) is not dict or "$" in value:
        return decode(value)
    return {name: decode_field(item) for name, item in value.items()}


def decode_field(item: object) -> Value:
    """Build a value, or leave it as rows by column if it is that; raises ValueError."""
    if type(item) is not dict or item.get("$") != "rows":
        return decode(item)
    try:
        return _decode_rows(item["v"])
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a tagged value: {error}") from error


def _decode_rows(content: tuple[list[str] | None, list[tuple[str, Any]], int]) -> Rows:
    names, columns, count = content
    checked = None if names is None else [*map(_text, names)]
    decoded: list[Column] = [(kind, _COLUMNS[kind](column)) for kind, column in columns]
    rows: Rows = importlib.import_module("ot_kernel.rows").Rows(checked, decoded, count)
    rows.check()
    return rows


_COLUMNS: dict[str, Callable[[Any], bytes | str | list[object]]] = {
    "q": base64.b64decode,
    "d": base64.b64decode,
    "s": _text,
    "v": lambda content: [_decode(item) for item in content],
}
