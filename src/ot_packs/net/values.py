"""Parts of a service's answer, taken out with care: what is missing or of another type is empty."""

from __future__ import annotations

from mcp_core.json_types import Json

_LONGEST = 2000  # characters


def part_of(value: Json, *keys: str) -> Json:
    """Return what lies below some keys; None if there is nothing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def text_of(value: Json, *keys: str, limit: int = _LONGEST) -> str:
    """Return a text below some keys, cut to a limit; a number is written out."""
    found = part_of(value, *keys)
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return ""
    return str(found)[:limit]


def number_of(value: Json, *keys: str) -> int:
    """Return a number below some keys; 0 if there is none."""
    found = part_of(value, *keys)
    return int(found) if isinstance(found, int | float) and -1e15 < found < 1e15 else 0


def items_of(value: Json, *keys: str) -> list[dict[str, Json]]:
    """Return the objects in a list below some keys."""
    found = part_of(value, *keys)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts_of(value: Json, *keys: str, limit: int = _LONGEST) -> list[str]:
    """Return the texts in a list below some keys."""
    found = part_of(value, *keys)
    return [item[:limit] for item in found if isinstance(item, str)] if isinstance(found, list) else []
