"""The content of a cell for a value, whichever library writes it.

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
from typing import NamedTuple, TypeAlias

from ot.errors import ToolError

MAX_TEXT = 32_767  # characters in a cell
MAX_FORMULA = 8_192
_EXACT = 2**53  # beyond which a workbook's numbers are rounded
_FIRST_DAY = datetime.date(1900, 3, 1)  # programs disagree about the days before
_LITERAL = re.compile(r'"(?:[^"]|"")*"')
_OUTSIDE = re.compile(
    r"\b(?:WEBSERVICE|HYPERLINK|RTD|DDE|DDEAUTO|CALL|REGISTER(?:\.ID)?|EXEC|SQL\.REQUEST|FILTERXML|STOCKHISTORY|IMAGE|"
    r"IMPORT(?:DATA|XML|HTML|FEED|RANGE)|INCLUDE|PY|COPILOT)\s*\(|\||\][^\[\]!]*!|\\\\|://",
    re.IGNORECASE,
)


class Form(StrEnum):
    """The kind of a cell's content."""

    BLANK = "blank"
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    ERROR = "error"
    FORMULA = "formula"


Moment: TypeAlias = datetime.datetime | datetime.date | datetime.time | datetime.timedelta
Content: TypeAlias = str | int | float | bool | Moment | None


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
    if not marked and reaches_outside(formula):
        raise ToolError(
            f"{where}: {formula[:60]!r} would reach outside of the workbook when it is opened; "
            f'if that is meant, pass the cell as {{"formula": "..."}}, or leave formulas off to write it as text'
        )
    return Cell(Form.FORMULA, formula)


def reaches_outside(formula: str) -> bool:
    """True if a formula calls a server, another workbook or another program, or offers a link."""
    return _OUTSIDE.search(_LITERAL.sub('""', formula)) is not None


def format_of(value: object) -> str:
    """Return the number format of a date, time or duration, unless the caller sets one."""
    match value:
        case datetime.datetime():
            return "yyyy-mm-dd hh:mm:ss"
        case datetime.date():
            return "yyyy-mm-dd"
        case datetime.time():
            return "hh:mm:ss"
        case _:
            return "[h]:mm:ss"
