"""Names for JSON in type annotations; the one place where `Any` stands for it. Nothing imports it at run time."""

from __future__ import annotations

from typing import Any

Json = Any
"""A JSON value that is passed on unread; a value that is looked at is an `object` and narrowed."""

JsonObject = dict[str, Any]
