"""Cells and rows written into a workbook that exists; everything else in it stays, or the edit is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import openpyxl
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, MergedCell
from openpyxl.worksheet.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.documents.archives import check_archive
from ot_packs.documents.kinds import Kind, reading, recognise
from ot_packs.excel.cells import Cell, Form, cell_for, cell_name, format_of, parse_cell
from ot_packs.excel.inventory import lost_between, take_inventory

_GENERAL = "General"


@dataclass(frozen=True, slots=True)
class Edit:
    """Cells and rows to be written, and their place."""

    sheet: str | None
    cells: Mapping[str, object]
    rows: Sequence[object]
    start: str | None
    formulas: bool
    add: bool
    lossy: bool


class Edited(TypedDict):
    """An edit that was written."""

    sheet: str
    cells: int
    lost: list[str]
    uncalculated: int  # formulas whose values are computed when a program opens the workbook


def edit_workbook(source: Path, target: Path, edit: Edit) -> Edited:
    """Write a changed copy of a workbook; raises ToolError, and leaves no copy, if something else would be lost."""
    kind = recognise(source)
    if kind not in (Kind.XLSX, Kind.XLSM):
        raise ToolError(
            f"{source.name} is a .{kind} file; only .xlsx and .xlsm can be edited: read it and create a new one"
        )
    check_archive(source)
    with reading(source), source.open("rb") as file:
        book = openpyxl.load_workbook(file, keep_vba=kind is Kind.XLSM, rich_text=True)
    try:
        return _edit(book, source, target, edit)
    finally:
        if book.vba_archive is not None:  # openpyxl leaves the copy of the macros open
            book.vba_archive.close()


def _edit(book: openpyxl.Workbook, source: Path, target: Path, edit: Edit) -> Edited:
    sheet = _find_sheet(book, source, edit)
    placed = _placed(sheet, edit)
    if not placed:
        raise ToolError("there is nothing to write: pass cells or rows")
    for (row, column), cell in placed.items():
        _put(sheet, row, column, cell)
    with reading(source):
        before = take_inventory(source)
        book.save(target)
        lost = lost_between(before, take_inventory(target))
    if lost and not edit.lossy:
        target.unlink()
        raise ToolError(
            f"editing {source.name} would lose {', '.join(lost)}; "
            "pass lossy=True to accept that, or create a new workbook"
        )
    uncalculated = sum(cell.data_type == "f" for each in book.worksheets for row in each.iter_rows() for cell in row)
    return {"sheet": sheet.title, "cells": len(placed), "lost": lost, "uncalculated": uncalculated}


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
        return book.create_sheet(edit.sheet)
    raise ToolError(f"{source.name} has no sheet {edit.sheet!r}; it has {', '.join(names[:20])}; add=True adds one")


def _placed(sheet: Worksheet, edit: Edit) -> dict[tuple[int, int], Cell]:
    """Return every cell that is to be written, by its place."""
    placed = {}
    for name, value in edit.cells.items():
        row, column = parse_cell(name)
        placed[row, column] = cell_for(value, f"{sheet.title}!{name}", formulas=edit.formulas)
    if edit.rows:
        top, left = parse_cell(edit.start) if edit.start else (_next_row(sheet), 0)
        for row, values in enumerate(_lists(sheet, edit.rows), start=top):
            for column, value in enumerate(values, start=left):
                where = f"{sheet.title}!{cell_name(row, column)}"
                parse_cell(cell_name(row, column))
                placed[row, column] = cell_for(value, where, formulas=edit.formulas)
    return placed


def _next_row(sheet: Worksheet) -> int:
    """Return the row below the last that has anything in it."""
    used = (row for row in range(sheet.max_row, 0, -1) if any(cell.value is not None for cell in sheet[row]))
    return next(used, 0)


def _lists(sheet: Worksheet, rows: Sequence[object]) -> list[list[object]]:
    """Take rows that are lists, or dicts by the titles in the sheet's first row."""
    titles = [str(cell.value) if cell.value is not None else None for cell in sheet[1]]
    lists = []
    for row in rows:
        if isinstance(row, Mapping):
            unknown = [key for key in row if key not in titles]
            if unknown:
                known = ", ".join(title for title in titles if title)
                raise ToolError(
                    f"sheet {sheet.title}: there is no column {unknown[0]!r} in its first row; the columns are {known}"
                )
            lists.append([row.get(title) if title is not None else None for title in titles])
        elif isinstance(row, Sequence) and not isinstance(row, str):
            lists.append(list(row))
        else:
            raise ToolError(f"rows are lists or dicts, not {type(row).__name__}")
    return lists


def _put(sheet: Worksheet, row: int, column: int, cell: Cell) -> None:
    place = sheet.cell(row + 1, column + 1)
    if isinstance(place, MergedCell):
        merged = next(str(area) for area in sheet.merged_cells.ranges if place.coordinate in area)
        raise ToolError(
            f"{sheet.title}!{place.coordinate} is inside of the merged cells {merged}: write to their first cell"
        )
    if cell.form is Form.TEXT:
        # Characters that XML has no place for are written as the format does.
        place.value = ILLEGAL_CHARACTERS_RE.sub(lambda found: f"_x{ord(found[0]):04X}_", str(cell.content))
        # The library takes what begins with = for a formula, and #N/A for an error.
        place.data_type = "s"
    else:
        place.value = cell.content
    if cell.form is Form.MOMENT and place.number_format == _GENERAL:
        place.number_format = format_of(cell.content)
