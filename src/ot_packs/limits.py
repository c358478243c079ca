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


def checked_page(limit: int | None, offset: int = 0) -> int:
    """Return the limit of a search as a number; raises ToolError for no page."""
    if limit is not None and not 1 <= limit <= 1000:
        raise ToolError(f"limit must be between 1 and 1000, not {limit}; None for all")
    if offset < 0:
        raise ToolError(f"offset must not be negative: {offset}")
    return 100_000 if limit is None else limit  # of one answer that is to have everything
