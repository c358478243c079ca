"""Cells and rows written into a workbook that exists; everything else in it stays, or the edit is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Generic, NamedTuple, TypedDict, TypeVar

import openpyxl
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, MergedCell
from openpyxl.worksheet.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.documents import Kind, check_archive, reading, recognise
from ot_packs.excel.cells import Cell, Form, cell_for, cell_name, format_of, parse_area, parse_cell
from ot_packs.excel.inventory import lost_between, take_inventory
from ot_packs.excel.plans import check_name
from ot_packs.excel.sheet_changes import all_series, change_series, delete_sheets, growing

Made = TypeVar("Made")


class Edit(NamedTuple):
    sheet: str | None
    cells: Mapping[str, object]
    rows: Sequence[object]
    start: str | None
    formulas: bool
    add: bool
    lossy: bool


class Edited(TypedDict):
    sheet: str
    cells: int
    lost: list[str]
    uncalculated: int  # formulas whose values are computed when a program opens the workbook


def edit_workbook(source: Path, target: Path, edit: Edit) -> Edited:
    """Write a copy of a workbook with other cells; raises ToolError, and leaves no copy, if something would be lost."""

    def change(book: openpyxl.Workbook) -> tuple[str, int]:
        sheet = _find_sheet(book, source, edit)
        placed = _placed(sheet, edit)
        if not placed:
            raise ToolError("there is nothing to write: pass cells or rows")
        for (row, column), cell in placed.items():
            _put(sheet, row, column, cell)
        _grow_tables(book, sheet, set(placed))
        return sheet.title, len(placed)

    saved = save_changed(source, target, change, lossy=edit.lossy)
    title, count = saved.made
    return {"sheet": title, "cells": count, "lost": saved.lost, "uncalculated": saved.uncalculated}


class Saved(NamedTuple, Generic[Made]):
    """A changed workbook that was saved: what the change returned, what was lost, and formulas without a value."""

    made: Made
    lost: list[str]
    uncalculated: int


def save_changed(
    source: Path, target: Path, change: Callable[[openpyxl.Workbook], Made], *, lossy: bool, delete: Sequence[str] = ()
) -> Saved[Made]:
    """Write a changed copy of a workbook; raises ToolError, and leaves no copy, if something else would be lost."""
    # Sheets to `delete` are deleted in the end: what is lost with them does not count.
    kind = recognise(source)
    if kind not in (Kind.XLSX, Kind.XLSM):
        editable = "only .xlsx and .xlsm can be edited: read it and create a new one"
        raise ToolError(f"{source.name} is a .{kind} file; {editable}")
    check_archive(source)
    with reading(source), source.open("rb") as file:
        book = openpyxl.load_workbook(file, keep_vba=kind is Kind.XLSM, rich_text=True)
    try:
        made = change(book)
        lost = _save(book, source, target, lossy=lossy)
        if delete:
            delete_sheets(book, delete)
            with reading(source):
                book.save(target)
        cells = (cell for sheet in book.worksheets for row in sheet.iter_rows() for cell in row)
        return Saved(made, lost, sum(cell.data_type == "f" for cell in cells))
    except ToolError:
        target.unlink(missing_ok=True)
        raise
    finally:
        if book.vba_archive is not None:  # openpyxl leaves the copy of the macros open
            book.vba_archive.close()


def _save(book: openpyxl.Workbook, source: Path, target: Path, *, lossy: bool) -> list[str]:
    """Save a workbook, and return what is lost by that; raises ToolError unless that is accepted."""
    with reading(source):
        before = take_inventory(source)
        book.save(target)
        lost = lost_between(before, take_inventory(target))
    if lost and not lossy:
        raise ToolError(
            f"editing {source.name} would lose {', '.join(lost)}; "
            "pass lossy=True to accept that, or create a new workbook"
        )
    return lost


def _grow_tables(book: openpyxl.Workbook, sheet: Worksheet, placed: set[tuple[int, int]]) -> None:
    """Let tables, and the charts that show them, take in the rows that were written right below them."""
    for table in sheet.tables.values():
        area = parse_area(table.ref)
        columns = range(area.left, area.right + 1)
        bottom = area.bottom
        while any((bottom + 1, column) in placed for column in columns):
            bottom += 1
        if bottom == area.bottom or table.totalsRowCount:
            continue
        for row in range(area.bottom + 1, bottom + 1):
            for column in columns:
                above, cell = sheet.cell(area.bottom + 1, column + 1), sheet.cell(row + 1, column + 1)
                if not cell.has_style:
                    cell._style = copy(above._style)  # noqa: SLF001 - the library has no other way to copy one
        table.ref = area._replace(bottom=bottom).name
        if table.autoFilter is not None:
            table.autoFilter.ref = table.ref
        for series in all_series(book):
            change_series(series, growing(sheet.title, area, bottom))


def _find_sheet(book: openpyxl.Workbook, source: Path, edit: Edit) -> Worksheet:
    names = [sheet.title for sheet in book.worksheets]
    if edit.sheet is None:
        if not names:
            raise ToolError(f"{source.name} has no sheet of cells")
        return book[names[0]]
    found = next((name for name in names if name.casefold() == edit.sheet.casefold()), None)
    if found is not None:
        return book[found]
    if edit.add:
        check_name(edit.sheet)
        return book.create_sheet(edit.sheet)
    raise ToolError(f"{source.name} has no sheet {edit.sheet!r}; it has {', '.join(names[:20])}; add=True adds one")


def _placed(sheet: Worksheet, edit: Edit) -> dict[tuple[int, int], Cell]:
    placed = {}
    for name, value in edit.cells.items():
        row, column = parse_cell(name)
        placed[row, column] = cell_for(value, f"{sheet.title}!{name}", formulas=edit.formulas)
    if edit.rows:
        used = (row for row in range(sheet.max_row, 0, -1) if any(cell.value is not None for cell in sheet[row]))
        top, left = parse_cell(edit.start) if edit.start else (next(used, 0), None)
        # The table that the rows would follow; without a column, any that ends above.
        areas = (parse_area(table.ref) for table in sheet.tables.values() if not table.totalsRowCount)
        table = next((area for area in areas if area.bottom + 1 == top and left in (None, area.left)), None)
        titles = list(sheet[table.top + 1][table.left : table.right + 1] if table else sheet[1])
        left = left if left is not None else table.left if table else 0
        for row, values in enumerate(_lists(sheet, edit.rows, [cell.value for cell in titles]), start=top):
            if values:
                parse_cell(cell_name(row, left + len(values) - 1))
            for column, value in enumerate(values, start=left):
                where = f"{sheet.title}!{cell_name(row, column)}"
                placed[row, column] = cell_for(value, where, formulas=edit.formulas)
    return placed


def _lists(sheet: Worksheet, rows: Sequence[object], header: Sequence[object]) -> list[list[object]]:
    """Take rows that are lists, or dicts by the titles of the table above, or of the sheet's first row."""
    titles = [str(title) if title is not None else None for title in header]
    lists = []
    for row in rows:
        if isinstance(row, Mapping):
            unknown = [key for key in row if key not in titles]
            if unknown:
                known = ", ".join(title for title in titles if title)
                raise ToolError(f"sheet {sheet.title}: there is no column {unknown[0]!r}; the columns are {known}")
            lists.append([row.get(title) if title is not None else None for title in titles])
        elif isinstance(row, Sequence) and not isinstance(row, str):
            lists.append(list(row))
        else:
            raise ToolError(f"rows are lists or dicts, not {type(row).__name__}")
    return lists


def _put(sheet: Worksheet, row: int, column: int, cell: Cell) -> None:
    place = sheet.cell(row + 1, column + 1)
    if isinstance(place, MergedCell):
        at = place.coordinate
        merged = next(str(area) for area in sheet.merged_cells.ranges if at in area)
        raise ToolError(f"{sheet.title}!{at} is inside of the merged cells {merged}: write to their first cell")
    if cell.form is Form.TEXT:
        # Characters that XML has no place for are written as the format does.
        place.value = ILLEGAL_CHARACTERS_RE.sub(lambda found: f"_x{ord(found[0]):04X}_", str(cell.content))
        # The library takes what begins with = for a formula, and #N/A for an error.
        place.data_type = "s"
    else:
        place.value = cell.content
    if cell.form is Form.MOMENT and place.number_format == "General":
        place.number_format = format_of(cell.content)
