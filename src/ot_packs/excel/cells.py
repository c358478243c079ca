"""Cells: their names, `B2` and `A1:C10`, as numbers that count from zero, and what to write into one for a value.

Text stays text: a spreadsheet program would compute what begins with `=`, and some such formulas start programs or call
servers. A formula is written where the caller asks for it, and one that reaches outside only if it is marked itself.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ot.errors import ToolError

MAX_TEXT = 32_767  # characters in a cell
MAX_FORMULA = 8_192
_EXACT = 2**53  # beyond which a workbook's numbers are rounded
_FIRST_DAY = datetime.date(1900, 3, 1)  # programs disagree about the days before
_OUTSIDE = re.compile(
    r"\b(?:WEBSERVICE|HYPERLINK|RTD|DDE|DDEAUTO|CALL|REGISTER(?:\.ID)?|EXEC|SQL\.REQUEST|FILTERXML|STOCKHISTORY|IMAGE|"
    r"IMPORT(?:DATA|XML|HTML|FEED|RANGE)|INCLUDE|PY|COPILOT)\s*\(|\||\][^\[\]!]*!|\\\\|://",
    re.IGNORECASE,
)


_FORMATS = {datetime.datetime: "yyyy-mm-dd hh:mm:ss", datetime.date: "yyyy-mm-dd", datetime.time: "hh:mm:ss"}
Moment: TypeAlias = datetime.datetime | datetime.date | datetime.time | datetime.timedelta
Content: TypeAlias = str | int | float | bool | Moment | None
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
_COLUMN = re.compile(r"\$?([A-Za-z]{1,3})")
_ROW = re.compile(r"\$?([1-9][0-9]{0,6})")


class Form(StrEnum):
    BLANK = "blank"
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    ERROR = "error"
    FORMULA = "formula"


class Cell(NamedTuple):
    """The content to be written to a cell; `result` is the value of a formula, if the caller knows it."""

    form: Form
    content: Content
    result: Content = None


def cell_for(value: object, where: str, *, formulas: bool) -> Cell:
    """Decide what to write for a value; raises ToolError, with the place, for what no cell can hold."""
    match value:
        case None:
            return Cell(Form.BLANK, None)
        case bool():
            return Cell(Form.BOOLEAN, value)
        case int() | float() | Decimal():
            return _number(value)
        case str():
            return _formula(value, where, marked=False) if formulas and value.startswith("=") else _text(value, where)
        case datetime.datetime() | datetime.date():
            return _moment(value)
        case datetime.time():
            return Cell(Form.MOMENT, value.replace(tzinfo=None))
        case datetime.timedelta():
            return Cell(Form.MOMENT, value) if value >= datetime.timedelta(0) else _text(str(value), where)
        case Mapping():
            return _marked(value, where)
    raise ToolError(f"{where}: a cell cannot hold a {type(value).__name__}; pass text, numbers, dates or nothing")


def _number(value: float | Decimal) -> Cell:
    if isinstance(value, int):
        # A number with more digits than the format keeps, such as an account's, stays what it is as text.
        return Cell(Form.NUMBER, value) if abs(value) <= _EXACT else Cell(Form.TEXT, str(value))
    number = float(value)
    return Cell(Form.NUMBER, number) if math.isfinite(number) else Cell(Form.ERROR, "#NUM!")


def _text(value: str, where: str) -> Cell:
    if len(value) > MAX_TEXT:
        raise ToolError(f"{where}: a cell can hold up to {MAX_TEXT} characters, and this text has {len(value)}")
    return Cell(Form.TEXT, value)


def _moment(value: datetime.datetime | datetime.date) -> Cell:
    """A moment as its clock shows it: cells know no time zones."""
    day = value.date() if isinstance(value, datetime.datetime) else value
    if day < _FIRST_DAY:
        return Cell(Form.TEXT, value.isoformat())
    return Cell(Form.MOMENT, value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value)


def _marked(value: Mapping[object, object], where: str) -> Cell:
    """A cell written as `{"formula": "=A1+1"}`, with `"value"` if its result is known."""
    formula = value.get("formula")
    if not isinstance(formula, str) or not value.keys() <= {"formula", "value"}:
        raise ToolError(f'{where}: a dict in a cell is a formula, {{"formula": "=A1*2"}}')
    result = value.get("value")
    if result is not None and not isinstance(result, str | int | float):
        raise ToolError(f"{where}: the value of a formula is a text or a number")
    return _formula(formula, where, marked=True)._replace(result=result)


def _formula(text: str, where: str, *, marked: bool) -> Cell:
    formula = text if text.startswith("=") else f"={text}"
    if len(formula) > MAX_FORMULA:
        raise ToolError(f"{where}: a formula has at most {MAX_FORMULA} characters")
    # It calls a server, another workbook or another program, or offers a link.
    if not marked and _OUTSIDE.search(re.sub(r'"(?:[^"]|"")*"', '""', formula)):
        raise ToolError(
            f"{where}: {formula[:60]!r} would reach outside of the workbook when it is opened; "
            f'if that is meant, pass the cell as {{"formula": "..."}}, or leave formulas off to write it as text'
        )
    return Cell(Form.FORMULA, formula)


def format_of(value: object) -> str:
    """Return the number format of a date, time or duration, unless the caller sets one."""
    return _FORMATS.get(type(value), "[h]:mm:ss")


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
        shared = Area(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )
        return shared if shared.top <= shared.bottom and shared.left <= shared.right else None


@lru_cache(maxsize=1024)
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
    return f"{column_name(column)}{row + 1}"


def parse_cell(text: str) -> tuple[int, int]:
    """Read `B2` as row and column; raises ToolError for what no sheet has."""
    found = re.fullmatch(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})", text.strip())
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
