"""JSON in type annotations. Nothing imports it at run time."""

from __future__ import annotations

from typing import Union

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]
"""A JSON value. A value that is not known to be one is an `object` and narrowed."""

JsonObject = dict[str, Json]
