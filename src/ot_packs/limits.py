"""The `limit` of a tool: a number, or None for everything there is."""

from __future__ import annotations

EVERYTHING = 2**31


def as_number(limit: int | None, everything: int = EVERYTHING) -> int:
    """Return a limit as a number; what an answer can hold bounds it all the same."""
    return everything if limit is None else limit
