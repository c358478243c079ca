"""Names for JSON in type annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A JSON value that is passed on unread; a value that is looked at is an `object` and narrowed."""

JsonObject: TypeAlias = dict[str, Any]

Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema, read but not changed."""
