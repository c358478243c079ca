"""Reading a workbook: windows of a sheet, no larger than an answer should be, found cells, and formulas."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict, TypeVar

from ot.errors import ToolError
from ot_packs.documents import Kind, reading
from ot_packs.excel.cells import Area, cell_name, column_name, parse_area
from ot_packs.excel.workbook import Sheet, Value, Workbook
from ot_packs.limits import as_number

MAX_VALUES = 400_000  # of one answer; the next window has the others
MOST_VALUES = 2_000_000  # of one that is to have everything
MAX_TEXT = 16 * 1024 * 1024  # characters

Found = TypeVar("Found", bound=tuple[object, ...])


class Window(TypedDict):
    """Rows of a sheet, and their place in it."""

    sheet: str
    range: str
    columns: list[str]
    rows: list[list[Value]]
    total: int  # rows there are, without the header
    more: bool
    merged: list[str]


def read_window(sheet: Sheet, place: str | None, *, header: bool, limit: int | None, offset: int) -> Window:
    """Read rows of a sheet, or of a range in it; with `header`, the first row names the columns."""
    most = MOST_VALUES if limit is None else MAX_VALUES
    limit = as_number(limit, offset=offset)
    empty: Window = {
        "sheet": sheet.name, "range": "", "columns": [], "rows": [], "total": 0, "more": False, "merged": [],
    }  # fmt: skip
    used = sheet.area
    wanted = parse_area(place) if place else used
    # Whole columns and rows end where the sheet does.
    area = wanted.meets(used) if wanted and used else None
    if used is None or wanted is None or area is None:
        return empty
    area = Area(wanted.top, wanted.left, area.bottom, area.right)
    columns = [column_name(area.left + number) for number in range(area.right - area.left + 1)]
    if header:
        columns = _names(next(sheet.rows(Area(area.top, area.left, area.top, area.right))), columns)
        area = Area(area.top + 1, area.left, area.bottom, area.right)
    total = area.bottom - area.top + 1
    top = area.top + offset
    if top > area.bottom or limit == 0:
        return {**empty, "columns": columns, "total": total, "more": top <= area.bottom}
    wanted = Area(top, area.left, min(area.bottom, top + limit - 1), area.right)
    rows = list(_bounded(sheet.rows(wanted), most))
    window = Area(top, area.left, top + len(rows) - 1, area.right)
    _make_days_alike(rows, sheet, Area(used.top, area.left, used.bottom, area.right))
    merged = [each.name for each in sheet.merged(window)]
    found: Window = {**empty, "range": window.name, "columns": columns, "rows": rows, "merged": merged}
    return {**found, "total": total, "more": offset + len(rows) < total}


def _make_days_alike(rows: list[list[Value]], sheet: Sheet, columns: Area) -> None:
    """Make days `datetime` where any cell of their column has a time; the library gives a `date` for each midnight."""
    kinds = [set(map(type, column)) for column in zip(*rows, strict=True)]
    days = [place for place, found in enumerate(kinds) if datetime.date in found]
    mixed = {place for place in days if datetime.datetime in kinds[place]}
    if len(mixed) < len(days) and len(rows) < columns.bottom - columns.top:  # without a header
        for row in sheet.rows(columns):  # a window does not tell of its column
            mixed.update(place for place in days if type(row[place]) is datetime.datetime)
    for place in mixed:
        for row in rows:
            day = row[place]
            if type(day) is datetime.date:
                row[place] = datetime.datetime(day.year, day.month, day.day)  # noqa: DTZ001 - cells know no time zones


def page(cells: Iterable[Found], limit: int, offset: int = 0) -> tuple[list[Found], int]:
    """Return some of the cells that were found, no more than an answer should carry, and how many there are."""
    found: list[Found] = []
    total = text = 0
    for each in cells:
        if offset <= total < offset + limit and text < MAX_TEXT:
            found.append(each)
            text += sum(len(str(part)) for part in each[2:])
        total += 1
    return found, total


def find_text(book: Workbook, query: str, sheet: str | int | None) -> Iterator[tuple[str, str, Value]]:
    """Yield sheet, cell and value where the text of a cell contains the query, ignoring case."""
    if not query:
        raise ToolError("query is empty: say what to look for")
    wanted = query.casefold()
    for each in book.sheets if sheet is None else [book.sheet(sheet)]:
        area = each.area
        for row, left, values in each.lines(area) if area else ():
            for column, value in enumerate(values, start=left):
                if value is not None and wanted in str(value).casefold():
                    yield each.name, cell_name(row, column), value


def find_formulas(book: Workbook, sheet: str | int | None, place: str | None) -> Iterator[tuple[str, str, str, Value]]:
    """Yield sheet, cell, formula and its last computed value, in a workbook, a sheet or a range in one."""
    # A formula that cells share is written out for each of them.
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


def _formulas_of(path: Path, sheet: Sheet, area: Area) -> Iterator[tuple[str, str, str, Value]]:
    import openpyxl  # it takes ten times as long to load as the rest
    from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula

    with reading(path), path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, keep_links=False)
        source = book[sheet.name]
        source.reset_dimensions()
        rows = source.iter_rows(min_row=area.top + 1, max_row=area.bottom + 1)
        for row, (number, left, values) in zip(rows, sheet.lines(area), strict=False):
            for column, value in enumerate(values[: max(len(row) - left, 0)], start=left):
                if row[column].data_type != "f":
                    continue
                formula = row[column].value
                if isinstance(formula, ArrayFormula):
                    formula = f"{{{formula.text}}}"
                elif isinstance(formula, DataTableFormula):
                    formula = f"{{=TABLE({formula.r1 or ''},{formula.r2 or ''})}}"
                yield sheet.name, cell_name(number, column), str(formula), value


def _bounded(rows: Iterator[list[Value]], most: int) -> Iterator[list[Value]]:
    """Yield rows until they are as much as one answer carries; at least one."""
    values = text = 0
    for row in rows:
        yield row
        values += len(row)
        text += sum([len(value) for value in row if type(value) is str])
        if values >= most or text >= MAX_TEXT:
            return


def _names(row: list[Value], letters: list[str]) -> list[str]:
    """Return a different name for each column: its title, or its letters where it has none."""
    names: dict[str, None] = {}
    for value, letter in zip(row, letters, strict=True):
        title = str(value).strip() if value is not None else letter
        name, number = title, 2
        while name in names:
            name, number = f"{title} {number}", number + 1
        names[name] = None
    return list(names)
