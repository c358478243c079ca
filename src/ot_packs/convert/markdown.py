"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPACES = re.compile(r"\s+")


def table(rows: Sequence[Sequence[object]]) -> str:
    """Write rows as a table whose header is the first one; ragged rows are filled up."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = [_line([*row, *[None] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join("" if cell is None else cell_text(str(cell)) for cell in cells) + " |"


def cell_text(text: str) -> str:
    """Return a text on one line, with nothing in it that would end a cell."""
    return _SPACES.sub(" ", text).strip().replace("|", "\\|")
