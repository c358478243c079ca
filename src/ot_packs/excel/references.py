"""References to cells as people write them, `B2` and `A1:C10`, and as numbers that count from zero."""

from __future__ import annotations

import re
from typing import NamedTuple

from ot.errors import ToolError

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")
_COLUMN = re.compile(r"\$?([A-Za-z]{1,3})")
_ROW = re.compile(r"\$?([1-9][0-9]{0,6})")


class Area(NamedTuple):
    """A rectangle of cells, its last row and column included."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def name(self) -> str:
        first, last = cell_name(self.top, self.left), cell_name(self.bottom, self.right)
        return first if first == last else f"{first}:{last}"

    def meets(self, other: Area) -> Area | None:
        """Return what both have in common."""
        shared = Area(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )
        return shared if shared.top <= shared.bottom and shared.left <= shared.right else None


def column_name(column: int) -> str:
    """Return the letters of a column: A for 0, AA for 26."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Return the number of a column by its letters; 0 for A."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell: A1 for 0, 0."""
    return f"{column_name(column)}{row + 1}"


def parse_cell(text: str) -> tuple[int, int]:
    """Read `B2` as row and column; raises ToolError for what no sheet has."""
    found = _CELL.fullmatch(text.strip())
    if found is None:
        raise ToolError(f'{text!r} is not a cell; one is written like "B2"')
    return _inside(text, int(found[2]) - 1, column_number(found[1]))


def parse_area(text: str) -> Area:
    """Read `A1:C10`, `B2`, `A:C` or `1:10`; raises ToolError for what no sheet has."""
    first, separator, last = text.strip().partition(":")
    if not separator:
        row, column = parse_cell(first)
        return Area(row, column, row, column)
    columns = _COLUMN.fullmatch(first), _COLUMN.fullmatch(last)
    rows = _ROW.fullmatch(first), _ROW.fullmatch(last)
    if columns[0] and columns[1]:
        corners = (0, column_number(columns[0][1])), (MAX_ROWS - 1, column_number(columns[1][1]))
    elif rows[0] and rows[1]:
        corners = (int(rows[0][1]) - 1, 0), (int(rows[1][1]) - 1, MAX_COLUMNS - 1)
    else:
        corners = parse_cell(first), parse_cell(last)
    (top, left), (bottom, right) = (_inside(text, *corner) for corner in corners)
    return Area(min(top, bottom), min(left, right), max(top, bottom), max(left, right))


def _inside(text: str, row: int, column: int) -> tuple[int, int]:
    if row >= MAX_ROWS or column >= MAX_COLUMNS:
        raise ToolError(f"{text!r} is outside of what a sheet can have: A1:{cell_name(MAX_ROWS - 1, MAX_COLUMNS - 1)}")
    return row, column
