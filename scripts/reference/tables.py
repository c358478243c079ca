"""A table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = (f"| {' | '.join(cells)} |\n" for cells in rows)
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n{''.join(lines)}"


def in_cell(text: str) -> str:
    """Return text that does not end its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def open_svg(width: int, height: int, label: str) -> str:
    """Return the tag that begins a picture, with what it shows in words."""
    size = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">'
