"""References of a workbook to its sheets: in formulas, names, charts and rules; found, changed, and made longer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import openpyxl
from openpyxl.chart.series import Series
from openpyxl.worksheet.formula import ArrayFormula
from openpyxl.worksheet.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.cells import Area, column_name, parse_area

Change = Callable[[str], str]
_LITERAL = re.compile(r'("(?:[^"]|"")*")')
_RANGE = re.compile(r"(?P<sheet>'(?:[^']|'')+'|[^'!]+)!(?P<area>\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?)")


def change_references(book: openpyxl.Workbook, change: Change) -> None:
    """Give every formula and reference of a workbook to a function, and write what it returns in its place."""
    for sheet in book.worksheets:
        _change_cells(sheet, change)
        _change_rules(sheet, change)
    for series in all_series(book):
        change_series(series, change)
    for names in (book.defined_names, *(sheet.defined_names for sheet in book.worksheets)):
        for name in names.values():
            name.attr_text = change(name.attr_text or "")


def _change_cells(sheet: Worksheet, change: Change) -> None:
    for row in sheet.iter_rows():
        for cell in row:
            if isinstance(cell.value, ArrayFormula):
                cell.value.text = change(cell.value.text or "")
            elif cell.data_type == "f" and isinstance(cell.value, str):
                cell.value = change(cell.value)
                cell.data_type = "f"


def _change_rules(sheet: Worksheet, change: Change) -> None:
    for validation in sheet.data_validations.dataValidation:
        validation.formula1, validation.formula2 = (
            change(text) if text else text for text in (validation.formula1, validation.formula2)
        )
    for rules in sheet.conditional_formatting:
        for rule in rules.rules:
            rule.formula = [change(text) for text in rule.formula]


def change_series(series: Series, change: Change) -> None:
    """Change what a series of a chart refers to; the values that it has kept of it are void then."""
    for part in (series.cat, series.val, series.xVal, series.yVal, series.bubbleSize, series.tx):
        for kind in ("numRef", "strRef", "multiLvlStrRef"):
            reference = getattr(part, kind, None)
            if reference is not None and reference.f and (changed := change(reference.f)) != reference.f:
                reference.f = changed
                for kept in ("numCache", "strCache", "multiLvlStrCache"):
                    if getattr(reference, kept, None) is not None:
                        setattr(reference, kept, None)


def all_series(book: openpyxl.Workbook) -> Iterator[Series]:
    for sheet in book.worksheets:
        for chart in sheet._charts:  # noqa: SLF001 - the library has no other name for them
            for plot in getattr(chart, "_charts", [chart]):
                yield from plot.ser


def renaming(old: str, new: str) -> Change:
    """Return what writes another name of a sheet into a formula; texts in quotes stay."""
    quoted = re.escape(old.replace("'", "''"))
    found = re.compile(rf"(?<![\w.'\]])(?:'{quoted}'|{re.escape(old)})!", re.IGNORECASE)
    name = f"'{new.replace(chr(39), chr(39) * 2)}'!"

    def change(text: str) -> str:
        pieces = _LITERAL.split(text)
        return "".join(piece if number % 2 else found.sub(lambda _: name, piece) for number, piece in enumerate(pieces))

    return change


def growing(sheet: str, table: Area, bottom: int) -> Change:
    """Return what makes a reference longer that goes to the last row of a table, to the row `bottom`."""

    def change(text: str) -> str:
        found = _RANGE.fullmatch(text)
        if found is None or found["sheet"].strip("'").replace("''", "'").casefold() != sheet.casefold():
            return text
        area = parse_area(found["area"].replace("$", ""))
        inside = table.left <= area.left and area.right <= table.right and table.top <= area.top < area.bottom
        if not inside or area.bottom != table.bottom:
            return text
        return f"{found['sheet']}!${column_name(area.left)}${area.top + 1}:${column_name(area.right)}${bottom + 1}"

    return change


def require_unused(book: openpyxl.Workbook, sheet: str) -> None:
    """Refuse to lose a sheet that formulas, names or charts of others refer to; raises ToolError."""
    rename = renaming(sheet, "\0")

    def check(text: str) -> str:
        if rename(text) != text:
            raise ToolError(f"the sheet {sheet!r} is still used elsewhere in the workbook, by {text[:100]!r}")
        return text

    own = book[sheet]
    place = book.index(own)
    book._sheets.remove(own)  # noqa: SLF001 - what is on it may refer to itself
    try:
        change_references(book, check)
    finally:
        book._sheets.insert(place, own)  # noqa: SLF001 - where it was
