"""The `limit` of a tool: a number, or None for everything there is."""

from __future__ import annotations

from ot.errors import ToolError

EVERYTHING = 2**31


def as_number(limit: int | None, everything: int = EVERYTHING, *, offset: int = 0) -> int:
    """Return a limit as a number, which what an answer can hold bounds all the same; raises ToolError for no page."""
    number = everything if limit is None else limit
    if number < 0 or offset < 0:
        raise ToolError("limit and offset must not be negative")
    return number
