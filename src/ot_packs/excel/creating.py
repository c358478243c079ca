"""New workbooks: sheets of rows with a header, tables, formats, widths and charts that the program draws itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypedDict

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.cells import (
    MAX_COLUMNS,
    MAX_ROWS,
    Cell,
    Form,
    cell_for,
    cell_name,
    column_name,
    column_number,
    format_of,
)
from ot_packs.excel.charts import ChartPlan, add_chart

_WIDEST = 60  # characters that a column is made wide for by itself
_BAD_NAME = re.compile(r"[\[\]:*?/\\]")
_PARTS = {"name", "rows", "header", "table", "formulas", "formats", "widths", "charts", "freeze"}
_LETTERS = re.compile(r"[A-Za-z]{1,3}")


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """A sheet to be made, checked."""

    name: str
    header: list[str]
    rows: list[list[object]]
    table: bool
    formulas: bool
    freeze: bool
    formats: dict[int, str]
    widths: dict[int, float]
    charts: list[ChartPlan]


class MadeSheet(TypedDict):
    """A sheet of the new workbook."""

    name: str
    rows: int
    columns: int
    formulas: int
    charts: int


def create_workbook(target: Path, sheets: Sequence[object], *, formulas: bool) -> list[MadeSheet]:
    """Write a new workbook; raises ToolError, before anything is written, for a plan that makes no sense."""
    if not sheets:
        raise ToolError('sheets is empty: pass at least one, such as {"name": "Data", "rows": [...]}')
    plans = [_plan(sheet, number, formulas=formulas) for number, sheet in enumerate(sheets, start=1)]
    _refuse_twins([plan.name for plan in plans])
    # Nothing is guessed from what a text looks like: neither formulas, nor links, nor numbers.
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "use_future_functions": True,
    }
    book = xlsxwriter.Workbook(str(target), options)
    made = [_SheetWriter(book, plan).write() for plan in plans]
    book.close()
    return made


# -- Plans


def _plan(sheet: object, number: int, *, formulas: bool) -> SheetPlan:
    if not isinstance(sheet, Mapping):
        raise ToolError(f'sheet {number} is not a dict such as {{"name": "Data", "rows": [...]}}')
    name = str(sheet.get("name") or f"Sheet{number}")
    _check_name(name)
    if unknown := sorted(set(map(str, sheet)) - _PARTS):
        raise ToolError(f"sheet {name}: {unknown[0]!r} is unknown; the keys are {', '.join(sorted(_PARTS))}")
    header, rows = _table(sheet.get("rows") or [], sheet.get("header"), name)
    width = max([len(header), *map(len, rows)], default=0)
    if len(rows) + bool(header) > MAX_ROWS or width > MAX_COLUMNS:
        raise ToolError(f"sheet {name}: {len(rows)} rows of {width} columns are more than a sheet can have")

    def column(key: object) -> int:
        return find_column(str(key), header, width, name)

    return SheetPlan(
        name=name,
        header=header,
        rows=rows,
        table=bool(sheet.get("table")),
        formulas=bool(sheet.get("formulas", formulas)),
        freeze=bool(sheet.get("freeze", header)),
        formats={column(key): str(value) for key, value in _dict(sheet, "formats", name).items()},
        widths={column(key): _width(value, name) for key, value in _dict(sheet, "widths", name).items()},
        charts=[ChartPlan.read(chart, column, name) for chart in _list(sheet, "charts", name)],
    )


def _table(rows: object, header: object, name: str) -> tuple[list[str], list[list[object]]]:
    """Take rows that are lists, or dicts whose keys, in the order in which they turn up, are the header."""
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise ToolError(f"sheet {name}: rows is a list of lists, or of dicts")
    if header is not None and (not isinstance(header, Sequence) or isinstance(header, str)):
        raise ToolError(f"sheet {name}: header is a list of names")
    if rows and all(isinstance(row, Mapping) for row in rows):
        keys = list(header or dict.fromkeys(key for row in rows for key in row))
        return list(map(str, keys)), [[row.get(key) for key in keys] for row in rows]
    lists = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Sequence) or isinstance(row, str):
            raise ToolError(f"sheet {name}: row {number} is a {type(row).__name__}; rows are all lists, or all dicts")
        lists.append(list(row))
    return [str(title) for title in header or ()], lists


def find_column(key: str, header: Sequence[str], width: int, sheet: str) -> int:
    """Find a column by its title, or by its letters."""
    if key in header:
        return list(header).index(key)
    if _LETTERS.fullmatch(key) and column_number(key) < width:
        return column_number(key)
    known = ", ".join(header) if header else f"A to {column_name(max(width - 1, 0))}"
    raise ToolError(f"sheet {sheet}: there is no column {key!r}; the columns are {known}")


def _width(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 255:
        raise ToolError(f"sheet {name}: a width is a number of characters up to 255, not {value!r}")
    return float(value)


def _dict(sheet: Mapping[str, object], key: str, name: str) -> Mapping[object, object]:
    value = sheet.get(key) or {}
    return value if isinstance(value, Mapping) else _wrong(name, key, "a dict of columns")


def _list(sheet: Mapping[str, object], key: str, name: str) -> Sequence[object]:
    value = sheet.get(key) or []
    return value if isinstance(value, Sequence) and not isinstance(value, str) else _wrong(name, key, "a list of dicts")


def _wrong(name: str, key: str, meant: str) -> NoReturn:
    raise ToolError(f"sheet {name}: {key} is {meant}")


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > 31 or _BAD_NAME.search(name) or name[0] == "'" or name[-1] == "'":
        raise ToolError(
            f"{name[:60]!r} is not a sheet name: use 1 to 31 characters, none of []:*?/\\, no quote at either end"
        )


def _refuse_twins(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise ToolError(f"two sheets are named {name!r}; names must differ, ignoring case")
        seen.add(name.casefold())


# -- Writing


class _SheetWriter:
    """Writes one sheet by its plan."""

    def __init__(self, book: xlsxwriter.Workbook, plan: SheetPlan) -> None:
        self._book = book
        self._plan = plan
        self._sheet: Worksheet = book.add_worksheet(plan.name)
        self._formats: dict[str, Format] = {}
        self._widths: dict[int, int] = {}
        self._formulas = 0

    def write(self) -> MadeSheet:
        plan = self._plan
        top = 1 if plan.header else 0
        bold = self._book.add_format({"bold": True})
        for column, title in enumerate(plan.header):
            self._put(0, column, Cell(Form.TEXT, title), bold)
        for row, values in enumerate(plan.rows, start=top):
            for column, value in enumerate(values):
                where = f"{plan.name}!{cell_name(row, column)}"
                cell = cell_for(value, where, formulas=plan.formulas)
                self._put(row, column, cell, self._format_for(column, cell))
        width = max([len(plan.header), *map(len, plan.rows)], default=0)
        self._set_widths(width)
        if plan.table and plan.rows and plan.header:
            self._add_table(width)
        if plan.freeze and plan.header:
            self._sheet.freeze_panes(1, 0)
        for number, chart in enumerate(plan.charts):
            add_chart(
                self._book,
                self._sheet,
                plan.name,
                chart,
                header=plan.header,
                rows=len(plan.rows),
                beside=width,
                number=number,
            )
        return {
            "name": plan.name,
            "rows": len(plan.rows),
            "columns": width,
            "formulas": self._formulas,
            "charts": len(plan.charts),
        }

    def _put(self, row: int, column: int, cell: Cell, style: Format | None) -> None:
        sheet, content = self._sheet, cell.content
        match cell.form:
            case Form.BLANK:
                return
            case Form.TEXT:
                sheet.write_string(row, column, str(content), style)
            case Form.BOOLEAN:
                sheet.write_boolean(row, column, content, style)
            case Form.NUMBER:
                sheet.write_number(row, column, content, style)
            case Form.MOMENT:
                sheet.write_datetime(row, column, content, style)
            case Form.ERROR:
                # An error as a constant is something that this library has no word for.
                sheet.write_formula(row, column, f"={content}", style, content)
            case Form.FORMULA:
                self._formulas += 1
                # Without a result it would write 0, which readers that do not compute take for the value.
                sheet.write_formula(row, column, content, style, "" if cell.result is None else cell.result)
        shown = max(len(str(content)) if cell.form is not Form.FORMULA else 10, 4)
        self._widths[column] = min(max(self._widths.get(column, 0), shown), _WIDEST)

    def _format_for(self, column: int, cell: Cell) -> Format | None:
        text = self._plan.formats.get(column) if cell.form is not Form.TEXT else None
        if text is None and cell.form is Form.MOMENT:
            text = format_of(cell.content)
        if text is None:
            return None
        if text not in self._formats:
            self._formats[text] = self._book.add_format({"num_format": text})
        return self._formats[text]

    def _set_widths(self, width: int) -> None:
        for column in range(width):
            chosen = self._plan.widths.get(column, self._widths.get(column, 8) + 2)
            self._sheet.set_column(column, column, chosen)

    def _add_table(self, width: int) -> None:
        plan = self._plan
        titles = plan.header + [column_name(column) for column in range(len(plan.header), width)]
        if len({title.casefold() for title in titles}) < len(titles) or not all(title.strip() for title in titles):
            raise ToolError(f"sheet {plan.name}: the columns of a table need names that differ")
        columns = [{"header": title} for title in titles]
        self._sheet.add_table(0, 0, len(plan.rows), width - 1, {"columns": columns})
