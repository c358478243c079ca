"""JSON as a type, and the parts of values that may not have the form they should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""A JSON value. A value that is not known to be one is an `object` and narrowed."""

JsonObject: TypeAlias = dict[str, Json]

Schema: TypeAlias = Mapping[str, Json]
"""A JSON Schema, read but not changed."""


def mapping_of(value: object) -> Schema:
    """Return a value that is an object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[Json]:
    """Return a value that is a list; an empty one for anything else."""
    return value if isinstance(value, list) else []
