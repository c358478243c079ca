"""Workbooks: read and search sheets, write into them, create new ones with tables and charts.

Reads .xlsx, .xlsm, .xlsb, .xls and .ods; writes .xlsx and .xlsm. Text is written as text, even if it looks like a
formula, unless formulas are asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from ot.context import current
from ot.effects import idempotent, reads
from ot.isolate import isolated
from ot.values import Rows, by_column
from ot_packs import excel as workbooks
from ot_packs.limits import as_number

pack = "excel"
needs = {
    "python_calamine": "python-calamine>=0.9",
    "xlsxwriter": "XlsxWriter>=3.3",
    "openpyxl": "openpyxl>=3.1.5",
    # With it, the pictures of a workbook survive an edit.
    "PIL": "pillow>=12",
}


class SheetInfo(TypedDict):
    name: str
    kind: str  # sheet, chart, macro or dialog
    visible: str  # visible, hidden or very hidden
    range: str  # the used cells; empty if there are none
    rows: int
    columns: int


class Sheets(TypedDict):
    format: str
    sheets: list[SheetInfo]


class Window(TypedDict):
    """Rows of a sheet. Errors are texts such as #DIV/0!; merged cells have their value in the first cell."""

    sheet: str
    range: str
    columns: list[str]
    rows: list[Any]  # lists, or dicts by column with header=True
    total: int
    more: bool
    merged: list[str]


class MatchingCell(TypedDict):
    sheet: str
    cell: str
    value: Any


class MatchingCells(TypedDict):
    matches: list[MatchingCell]
    total: int
    more: bool


class Formula(TypedDict):
    sheet: str
    cell: str
    formula: str
    value: Any


class Formulas(TypedDict):
    formulas: list[Formula]
    total: int
    more: bool


class EditResult(TypedDict):
    """An edit. `uncalculated` formulas have no value until a spreadsheet program opens the workbook."""

    path: str
    sheet: str
    cells: int
    lost: list[str]
    uncalculated: int


class FormatResult(TypedDict):
    path: str
    sheet: str
    cells: int
    lost: list[str]


class SheetsResult(TypedDict):
    path: str
    sheets: list[str]
    lost: list[str]


class MadeSheet(TypedDict):
    name: str
    rows: int
    columns: int
    formulas: int
    charts: int


class Created(TypedDict):
    path: str
    sheets: list[MadeSheet]


@isolated(reads=["{path}"])
@reads
def sheets(*, path: str) -> Sheets:
    """List the sheets of a workbook, including hidden ones, and the cells that each uses.

    Args:
        path: The workbook: .xlsx, .xlsm, .xlsb, .xls or .ods; the format is detected from the content.

    Returns:
        The file's format, and the name, kind, visibility, range, rows and columns of each sheet.

    Example:
        excel.sheets(path="sales.xlsx")
    """
    book = workbooks.Workbook(Path(path))
    found: list[SheetInfo] = []
    for sheet in book.sheets:
        area = sheet.area
        used, rows, columns = (area.name, area.bottom + 1, area.right + 1) if area else ("", 0, 0)
        found.append(
            SheetInfo(name=sheet.name, kind=sheet.kind, visible=sheet.visible, range=used, rows=rows, columns=columns)
        )
    return {"format": book.kind.value, "sheets": found}


@isolated(reads=["{path}"])
@reads
def read(
    *,
    path: str,
    sheet: str | int | None = None,
    range: str | None = None,
    header: bool = False,
    limit: int | None = 1000,
    offset: int = 0,
) -> Window:
    """Read rows of a sheet as plain values: text, numbers, dates, booleans, and None for empty cells.

    Args:
        path: The workbook.
        sheet: The name of a sheet, or its number from 1; the first by default.
        range: Cells such as "B2:D20", "A:C" or "1:10"; all used cells by default.
        header: Use the first row as column names, and return rows as dicts.
        limit: Maximum number of rows to return; None for all.
        offset: Number of rows to skip.

    Returns:
        The rows, their range, the total number of rows, and whether there are more.

    Example:
        excel.read(path="sales.xlsx", sheet="Sales", header=True, limit=10)["rows"]
    """
    found = workbooks.Workbook(Path(path)).sheet(sheet)
    window = workbooks.read_window(found, range, header=header, limit=limit, offset=offset)
    rows = by_column(window["rows"])
    if isinstance(rows, Rows):
        rows.names = window["columns"] if header else None
    elif header:
        rows = [dict(zip(window["columns"], row, strict=True)) for row in rows]
    return {**window, "rows": rows}


@isolated(reads=["{path}"])
@reads
def search(*, path: str, query: str, sheet: str | int | None = None, limit: int | None = 100) -> MatchingCells:
    """Find cells whose value contains a text, ignoring case.

    Args:
        path: The workbook.
        query: The text to look for.
        sheet: The sheet to search; all sheets by default.
        limit: Maximum number of matches to return; None for all.

    Returns:
        The cells with their sheets and values, the total number of matches, and whether there are more.

    Example:
        excel.search(path="sales.xlsx", query="north")
    """
    limit = as_number(limit)
    found, total = workbooks.page(workbooks.find_text(workbooks.Workbook(Path(path)), query, sheet), limit)
    matches: list[MatchingCell] = [{"sheet": name, "cell": cell, "value": value} for name, cell, value in found]
    return {"matches": matches, "total": total, "more": total > len(found)}


@isolated(reads=["{path}"])
@reads
def formulas(
    *, path: str, sheet: str | int | None = None, range: str | None = None, limit: int | None = 1000, offset: int = 0
) -> Formulas:
    """List the formulas of a workbook with their last computed values.

    Args:
        path: The workbook: .xlsx or .xlsm.
        sheet: The sheet to search; all sheets by default.
        range: Cells of that sheet, such as "B2:D20".
        limit: Maximum number of formulas to return; None for all.
        offset: Number of formulas to skip.

    Returns:
        The formulas with their cells and values, the total number, and whether there are more.

    Example:
        excel.formulas(path="sales.xlsx", sheet="Sales")
    """
    limit = as_number(limit, offset=offset)
    cells = workbooks.find_formulas(workbooks.Workbook(Path(path)), sheet, range)
    found, total = workbooks.page(cells, limit, offset)
    shown = [Formula(sheet=name, cell=cell, formula=text, value=value) for name, cell, text, value in found]
    return {"formulas": shown, "total": total, "more": total > offset + len(found)}


@isolated(reads=["{path}"], outputs=["{path}"])
def write(
    *,
    path: str,
    sheet: str | None = None,
    cells: dict[str, Any] | None = None,
    rows: list[Any] | None = None,
    start: str | None = None,
    formulas: bool = False,
    add: bool = False,
    lossy: bool = False,
) -> EditResult:
    """Write cells or rows into an existing workbook, keeping everything else.

    A table grows by the rows that are written right below it, and so do the charts that show it.

    Args:
        path: The workbook: .xlsx or .xlsm.
        sheet: The name of the sheet; the first by default.
        cells: Values by cell, such as {"B2": 5, "B3": "text"}; a value {"formula": "=B2*2"} is a formula.
        rows: Rows as lists, or as dicts keyed by the titles of the table above, or in the sheet's first row.
        start: The cell where rows begin; below the last row by default.
        formulas: Treat text that begins with = as a formula.
        add: Add the sheet if it does not exist.
        lossy: Write even if this loses things that the library cannot keep, such as shapes or sparklines.

    Returns:
        The number of cells written, the things that were lost, and the number of formulas without a computed value.

    Example:
        excel.write(path="sales.xlsx", sheet="Sales", rows=[["west", 90]])
    """
    edit = workbooks.Edit(sheet, cells or {}, rows or [], start, formulas, add, lossy)
    return {"path": path, **workbooks.edit_workbook(Path(path), current().output("path"), edit)}


@isolated(reads=["{path}"], outputs=["{path}"])
@idempotent
def format(
    *, path: str, formats: dict[str, dict[str, Any]], sheet: str | None = None, lossy: bool = False
) -> FormatResult:
    """Format cells of an existing workbook: number formats, fonts, fills, alignment, borders, column widths.

    Args:
        path: The workbook: .xlsx or .xlsm.
        formats: For ranges such as "B2:B20", "A:A" or "1:1" a dict of number ("0.00"), bold, italic, size, color and
            fill ("FF0000"), align ("left", "center", "right"), wrap, border (True or False), width (characters).
        sheet: The name of the sheet; the first by default.
        lossy: As for `write`.

    Returns:
        The number of cells that were formatted, and the things that were lost.

    Example:
        excel.format(path="sales.xlsx", formats={"1:1": {"bold": True}, "B:B": {"number": "#,##0.00"}})
    """

    def change(book: Any) -> tuple[str, int]:
        found = workbooks.find_sheet(book, sheet if sheet is not None else book.worksheets[0].title)
        return found.title, workbooks.format_cells(found, formats)

    saved = workbooks.save_changed(Path(path), current().output("path"), change, lossy=lossy)
    return {"path": path, "sheet": saved.made[0], "cells": saved.made[1], "lost": saved.lost}


@isolated(reads=["{path}"], outputs=["{path}"])
def change_sheets(
    *,
    path: str,
    rename: dict[str, str] | None = None,
    add: list[str] | None = None,
    delete: list[str] | None = None,
    lossy: bool = False,
) -> SheetsResult:
    """Rename, add or delete sheets of an existing workbook; formulas, names and charts follow a new name.

    Args:
        path: The workbook: .xlsx or .xlsm.
        rename: New names by old ones, such as {"Sheet1": "Sales"}.
        add: Names of new sheets, at the end.
        delete: Sheets to delete, by their new names. One that formulas or charts of others use is refused.
        lossy: As for `write`.

    Returns:
        The names of the sheets afterwards, and the things that were lost.

    Example:
        excel.change_sheets(path="sales.xlsx", add=["Notes"])["sheets"]
    """

    def change(book: Any) -> Any:
        workbooks.change_sheets(book, rename=rename or {}, add=add or [])
        return book

    target = current().output("path")
    saved = workbooks.save_changed(Path(path), target, change, lossy=lossy, delete=delete or [])
    return {"path": path, "sheets": list(saved.made.sheetnames), "lost": saved.lost}


@isolated(outputs=["{path}"])
@idempotent
def create(*, path: str, sheets: list[dict[str, Any]], formulas: bool = False) -> Created:
    """Create a workbook with one or more sheets, tables, formats, column widths and native charts.

    Args:
        path: The .xlsx file to write; an existing file is replaced.
        sheets: For each sheet its name and rows (lists, or dicts whose keys become the header), and optionally header
            (names for rows that are lists), table (True for a table with filters), formats (number formats by column,
            {"price": "0.00"}), widths (characters by column), formulas, freeze, and charts: dicts of type (column,
            bar, line, area, pie, doughnut, scatter or radar), x and y (columns), title, x_title, y_title, stacked, at
            (a cell). A cell may be {"formula": "=A2*2"}.
        formulas: Take text that begins with = for a formula, on all sheets.

    Returns:
        The path, and the rows, columns, formulas and charts of each sheet.

    Example:
        excel.create(
            path="report.xlsx",
            sheets=[
                {
                    "name": "Sales",
                    "rows": [{"month": "Jan", "sales": 120}, {"month": "Feb", "sales": 150}],
                    "table": True,
                    "charts": [{"type": "column", "x": "month", "y": "sales", "title": "Sales"}],
                }
            ],
        )
    """
    created = workbooks.create_workbook(current().output("path"), sheets, formulas=formulas)
    made = [
        MadeSheet(name=p.name, rows=len(p.rows), columns=p.width, formulas=count, charts=len(p.charts))
        for p, count in created
    ]
    return {"path": path, "sheets": made}
