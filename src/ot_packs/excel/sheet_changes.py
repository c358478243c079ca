"""Changes of a workbook beside its values: sheets that are added, renamed or deleted, formats of cells, and references.

References to sheets, in formulas, names, charts and rules, are found, changed, and made longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy

import openpyxl
from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.chart.series import Series
from openpyxl.styles import Border, Font, PatternFill, Side
from openpyxl.worksheet.formula import ArrayFormula
from openpyxl.worksheet.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.cells import Area, column_name, parse_area
from ot_packs.excel.plans import check_name

Change = Callable[[str], str]
_RANGE = re.compile(r"(?P<sheet>'(?:[^']|'')+'|[^'!]+)!(?P<area>\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?)")
_MOST_CELLS = 200_000
_FLAGS = {"bold": "b", "italic": "i"}
_KEYS = ("number", "bold", "italic", "size", "color", "fill", "align", "wrap", "border", "width")


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
        pieces = re.split(r'("(?:[^"]|"")*")', text)
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


def change_sheets(book: openpyxl.Workbook, *, rename: Mapping[str, str], add: Sequence[str]) -> None:
    """Rename sheets, whose references follow, and add others; raises ToolError."""
    for old, new in rename.items():
        sheet = find_sheet(book, old)
        _require_free(book, new, but=sheet)
        change_references(book, renaming(sheet.title, new))
        sheet.title = new
    for name in add:
        _require_free(book, name)
        book.create_sheet(name)


def delete_sheets(book: openpyxl.Workbook, names: Sequence[str]) -> None:
    """Delete sheets to which nothing refers; one that can be seen has to be left. Raises ToolError."""
    for name in names:
        sheet = find_sheet(book, name)
        if not any(other.sheet_state == "visible" for other in book.worksheets if other is not sheet):
            raise ToolError(f"{name!r} is the last sheet that can be seen; a workbook needs one")
        require_unused(book, sheet.title)
        book.remove(sheet)


def find_sheet(book: openpyxl.Workbook, name: str) -> Worksheet:
    """Return a sheet of cells by its name; raises ToolError with those there are."""
    names = [sheet.title for sheet in book.worksheets]
    found = next((known for known in names if known.casefold() == name.casefold()), None)
    if found is None:
        raise ToolError(f"there is no sheet {name!r}; the workbook has {', '.join(names[:20])}")
    return book[found]


def _require_free(book: openpyxl.Workbook, name: str, *, but: Worksheet | None = None) -> None:
    check_name(name)
    if any(name.casefold() == sheet.title.casefold() for sheet in book.worksheets if sheet is not but):
        raise ToolError(f"the workbook already has a sheet {name!r}")


def format_cells(sheet: Worksheet, formats: Mapping[str, object]) -> int:
    """Format ranges of cells; returns how many cells that were. Raises ToolError."""
    count = 0
    for place, wanted in formats.items():
        if not isinstance(wanted, Mapping) or not wanted or not wanted.keys() <= set(_KEYS):
            raise ToolError(f"{place}: a format is a dict of {', '.join(_KEYS)}")
        area = parse_area(place)
        bottom = min(area.bottom, max(sheet.max_row - 1, area.top))
        right = min(area.right, max(sheet.max_column - 1, area.left))
        count += (bottom - area.top + 1) * (right - area.left + 1)
        if count > _MOST_CELLS:
            raise ToolError(f"one call formats up to {_MOST_CELLS:,} cells: name fewer")
        if "width" in wanted:
            for column in range(area.left, right + 1):
                sheet.column_dimensions[column_name(column)].width = _number(place, "width", wanted["width"], 255)
        for row in sheet.iter_rows(area.top + 1, bottom + 1, area.left + 1, right + 1):
            for cell in row:
                _format(cell, place, wanted)
    return count


def _format(cell: Cell | MergedCell, place: str, wanted: Mapping[str, object]) -> None:
    if "number" in wanted:
        cell.number_format = str(wanted["number"])
    if changes := _font_changes(place, wanted):
        font = cell.font
        kept = {"name": font.name, "sz": font.sz, "b": font.b, "i": font.i, "u": font.u, "strike": font.strike}
        cell.font = Font(**{**kept, "color": font.color, "vertAlign": font.vertAlign, **changes})
    if "fill" in wanted:
        cell.fill = PatternFill("solid", fgColor=_color(place, wanted["fill"])) if wanted["fill"] else PatternFill()
    alignment = copy(cell.alignment)
    if "align" in wanted:
        if wanted["align"] not in ("left", "center", "right"):
            raise ToolError(f"{place}: align is left, center or right")
        alignment.horizontal = str(wanted["align"])
    if "wrap" in wanted:
        alignment.wrap_text = bool(wanted["wrap"])
    cell.alignment = alignment
    if "border" in wanted:
        side = Side("thin") if wanted["border"] else Side()
        cell.border = Border(side, side, side, side)


def _font_changes(place: str, wanted: Mapping[str, object]) -> dict[str, object]:
    changes: dict[str, object] = {key: bool(wanted[name]) for name, key in _FLAGS.items() if name in wanted}
    if "size" in wanted:
        changes["sz"] = _number(place, "size", wanted["size"], 409)
    if "color" in wanted:
        changes["color"] = _color(place, wanted["color"])
    return changes


def _number(place: str, name: str, value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise ToolError(f"{place}: {name} is a number up to {most:g}, not {value!r}")
    return float(value)


def _color(place: str, value: object) -> str:
    found = re.fullmatch(r"#?([0-9A-Fa-f]{6})", str(value))
    if found is None:
        raise ToolError(f'{place}: a color is written like "FF0000", not {str(value)[:40]!r}')
    return f"FF{found[1].upper()}"
