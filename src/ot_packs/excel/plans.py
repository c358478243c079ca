"""Sheets and charts of a new workbook as the caller describes them, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from ot.errors import ToolError
from ot_packs.excel.cells import MAX_COLUMNS, MAX_ROWS, column_name, column_number, parse_cell

_PARTS = {"name", "rows", "header", "table", "formulas", "formats", "widths", "charts", "freeze"}
_CHARTS = ("column", "bar", "line", "area", "pie", "doughnut", "scatter", "radar")
_CHART_PARTS = {"type", "title", "x", "y", "at", "x_title", "y_title", "stacked"}


class ChartPlan(NamedTuple):
    kind: str
    title: str
    x: int | None  # the number of a column
    y: list[int]
    at: tuple[int, int] | None
    x_title: str
    y_title: str
    stacked: bool


class SheetPlan(NamedTuple):
    name: str
    header: list[str]
    rows: list[list[object]]
    width: int  # columns
    table: bool
    formulas: bool
    freeze: bool
    formats: dict[int, str]
    widths: dict[int, float]
    charts: list[ChartPlan]


def read_plans(sheets: Sequence[object], *, formulas: bool) -> list[SheetPlan]:
    if not sheets:
        raise ToolError('sheets is empty: pass at least one, such as {"name": "Data", "rows": [...]}')
    plans = [_sheet(sheet, number, formulas=formulas) for number, sheet in enumerate(sheets, start=1)]
    seen: set[str] = set()
    for plan in plans:
        if plan.name.casefold() in seen:
            raise ToolError(f"two sheets are named {plan.name!r}; names must differ, ignoring case")
        seen.add(plan.name.casefold())
    return plans


def _sheet(sheet: object, number: int, *, formulas: bool) -> SheetPlan:
    if not isinstance(sheet, Mapping):
        raise ToolError(f'sheet {number} is not a dict such as {{"name": "Data", "rows": [...]}}')
    name = str(sheet.get("name") or f"Sheet{number}")
    check_name(name)
    if unknown := sorted(set(map(str, sheet)) - _PARTS):
        raise ToolError(f"sheet {name}: {unknown[0]!r} is unknown; the keys are {', '.join(sorted(_PARTS))}")
    header, rows = _table(sheet.get("rows") or [], sheet.get("header"), name)
    width = max([len(header), *map(len, rows)], default=0)
    if len(rows) + bool(header) > MAX_ROWS or width > MAX_COLUMNS:
        raise ToolError(f"sheet {name}: {len(rows)} rows of {width} columns are more than a sheet can have")
    charts = sheet.get("charts") or []
    if not _is_list(charts):
        raise ToolError(f"sheet {name}: charts is a list of dicts")

    def column(key: object) -> int:
        title = str(key)
        if title in header:
            return header.index(title)
        if re.fullmatch(r"[A-Za-z]{1,3}", title) and column_number(title) < width:
            return column_number(title)
        known = ", ".join(header) if header else f"A to {column_name(max(width - 1, 0))}"
        raise ToolError(f"sheet {name}: there is no column {title!r}; the columns are {known}")

    return SheetPlan(
        name=name,
        header=header,
        rows=rows,
        width=width,
        table=bool(sheet.get("table")),
        formulas=bool(sheet.get("formulas", formulas)),
        freeze=bool(sheet.get("freeze", header)),
        formats={column(key): str(value) for key, value in _by_column(sheet, "formats", name).items()},
        widths={column(key): _width(value, name) for key, value in _by_column(sheet, "widths", name).items()},
        charts=[_chart(chart, column, name) for chart in charts],
    )


def check_name(name: str) -> None:
    if not name.strip() or len(name) > 31 or re.search(r"[\[\]:*?/\\]", name) or name[0] == "'" or name[-1] == "'":
        rule = "use 1 to 31 characters, none of []:*?/\\, no quote at either end"
        raise ToolError(f"{name[:60]!r} is not a sheet name: {rule}")


def _table(rows: object, header: object, name: str) -> tuple[list[str], list[list[object]]]:
    """Take rows that are lists, or dicts whose keys, in the order in which they turn up, are the header."""
    titles = [] if header is None else header
    if not _is_list(rows):
        raise ToolError(f"sheet {name}: rows is a list of lists, or of dicts")
    if not _is_list(titles):
        raise ToolError(f"sheet {name}: header is a list of names")
    dicts = [row for row in rows if isinstance(row, Mapping)]
    if dicts and len(dicts) == len(rows):
        keys = list(titles or dict.fromkeys(key for row in dicts for key in row))
        return list(map(str, keys)), [[row.get(key) for key in keys] for row in dicts]
    lists = []
    for number, row in enumerate(rows, start=1):
        if not _is_list(row):
            raise ToolError(f"sheet {name}: row {number} is a {type(row).__name__}; rows are all lists, or all dicts")
        lists.append(list(row))
    return list(map(str, titles)), lists


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _by_column(sheet: Mapping[str, object], key: str, name: str) -> Mapping[object, object]:
    value = sheet.get(key) or {}
    if not isinstance(value, Mapping):
        raise ToolError(f"sheet {name}: {key} is a dict of columns")
    return value


def _width(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 255:
        raise ToolError(f"sheet {name}: a width is a number of characters up to 255, not {value!r}")
    return float(value)


def _chart(chart: object, column: Callable[[object], int], sheet: str) -> ChartPlan:
    if not isinstance(chart, Mapping):
        raise ToolError(f'sheet {sheet}: a chart is a dict such as {{"type": "line", "x": "month", "y": "sales"}}')
    if unknown := sorted(set(map(str, chart)) - _CHART_PARTS):
        known = ", ".join(sorted(_CHART_PARTS))
        raise ToolError(f"sheet {sheet}: {unknown[0]!r} of a chart is unknown; the keys are {known}")
    kind = str(chart.get("type", "column"))
    if kind not in _CHARTS:
        raise ToolError(f"sheet {sheet}: there is no chart type {kind!r}; the types are {', '.join(_CHARTS)}")
    y = chart.get("y")
    names = list(y) if _is_list(y) else [y]
    if not names or None in names:
        raise ToolError(f"sheet {sheet}: a chart needs y, the column or columns that it shows")
    stacked = bool(chart.get("stacked"))
    if stacked and kind not in ("column", "bar", "area", "line"):
        raise ToolError(f"sheet {sheet}: a chart of the type {kind} cannot be stacked")
    return ChartPlan(
        kind=kind,
        title=str(chart.get("title") or ""),
        x=None if chart.get("x") is None else column(chart["x"]),
        y=[column(name) for name in names],
        at=None if chart.get("at") is None else parse_cell(str(chart["at"])),
        x_title=str(chart.get("x_title") or ""),
        y_title=str(chart.get("y_title") or ""),
        stacked=stacked,
    )
