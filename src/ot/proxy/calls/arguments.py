"""Arguments of a call as plain JSON, the only thing that another server can read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from uuid import UUID

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError

_MAX_LEVELS = 100
_PLAIN = frozenset({str, int, bool, type(None)})


def plain_arguments(arguments: Mapping[str, Json]) -> JsonObject:
    """Convert arguments to JSON's own types; raises a ToolError that names one which has no form there, and what to do.

    Dates are written in ISO form, paths and UUIDs as text, sets and tuples as lists, durations in seconds.
    """
    converted: dict[str, Json] = {}
    for name, value in arguments.items():
        converted[name] = value if type(value) in _PLAIN else _plain(value, name, 0)
    return converted


def _plain(value: object, where: str, level: int) -> object:
    if level > _MAX_LEVELS:
        raise ToolError(f"{where[:80]} is nested more than {_MAX_LEVELS} levels deep, or contains itself")
    match value:
        case None | bool() | str() | int():
            return value
        case float() | Decimal() | Fraction():
            return _number(value, where)
        case Mapping():
            return {_key(key, where): _plain(item, f"{where}[{key!r}]", level + 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, f"{where}[{number}]", level + 1) for number, item in enumerate(value)]
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | PathLike():
            return str(value)
    advice = "; give it as base64 text" if isinstance(value, (bytes, bytearray)) else ""
    raise ToolError(f"{where} is of type {type(value).__name__}, which JSON cannot represent{advice}")


def _number(value: float | Decimal | Fraction, where: str) -> float:
    """Convert a number, exactly where possible: a whole number stays one, however large."""
    if not math.isfinite(value):
        raise ToolError(f"{where} is {value}, which JSON cannot represent")
    if isinstance(value, float):
        return value
    return int(value) if value == int(value) else float(value)


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (int, UUID, date)):
        return str(key)
    raise ToolError(f"a key of {where} is of type {type(key).__name__}; JSON keys are text")
