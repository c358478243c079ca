"""The formulas of a workbook, as they would stand in the cells; a shared one is written out for each of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import openpyxl
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula

from ot.errors import ToolError
from ot_packs.documents.failures import reading
from ot_packs.documents.kinds import Kind
from ot_packs.excel.references import Area, cell_name, parse_area
from ot_packs.excel.workbook import Sheet, Value, Workbook


class Formula(TypedDict):
    """A formula in its cell, and its last computed value."""

    sheet: str
    cell: str
    formula: str
    value: Value


def find_formulas(book: Workbook, sheet: str | int | None, place: str | None) -> Iterator[Formula]:
    """Yield all formulas of a workbook, of a sheet, or of a range in one."""
    if book.kind not in (Kind.XLSX, Kind.XLSM):
        raise ToolError(f"the formulas of a .{book.kind} file cannot be read: save it as .xlsx first")
    if place is not None and sheet is None:
        raise ToolError("name the sheet that the range is in")
    for each in book.sheets if sheet is None else [book.sheet(sheet)]:
        area = each.area
        if area is not None and place is not None:
            area = parse_area(place).meets(area)
        if area is not None and each.has_formulas:
            yield from _formulas_of(book.path, each, area)


def _formulas_of(path: Path, sheet: Sheet, area: Area) -> Iterator[Formula]:
    with reading(path), path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, keep_links=False)
        source = book[sheet.name]
        source.reset_dimensions()
        rows = source.iter_rows(min_row=area.top + 1, max_row=area.bottom + 1)
        for row, (number, left, values) in zip(rows, sheet.lines(area), strict=False):
            for column, value in enumerate(values[: max(len(row) - left, 0)], start=left):
                if row[column].data_type == "f":
                    cell, formula = cell_name(number, column), _text(row[column].value)
                    yield {"sheet": sheet.name, "cell": cell, "formula": formula, "value": value}


def _text(formula: object) -> str:
    if isinstance(formula, ArrayFormula):
        return f"{{{formula.text}}}"
    if isinstance(formula, DataTableFormula):
        return f"{{=TABLE({formula.r1 or ''},{formula.r2 or ''})}}"
    return str(formula)
