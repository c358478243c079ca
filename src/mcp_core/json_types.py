"""JSON in type annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""A JSON value. A value that is not known to be one is an `object` and narrowed."""

JsonObject: TypeAlias = dict[str, Json]

Schema: TypeAlias = Mapping[str, Json]
"""A JSON Schema, read but not changed."""
