"""A table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = (f"| {' | '.join(cells)} |\n" for cells in rows)
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n{''.join(lines)}"


def in_cell(text: str) -> str:
    """Return text that does not end its cell."""
    return " ".join(text.split()).replace("|", "\\|")
