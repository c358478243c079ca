"""Charts of a new workbook: drawn by whoever opens it, from the cells of the sheet that they stand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.cells import cell_name, column_name, parse_cell

_TYPES = ("column", "bar", "line", "area", "pie", "doughnut", "scatter", "radar")
_PARTS = {"type", "title", "x", "y", "at", "x_title", "y_title", "stacked"}
_HEIGHT = 16  # rows that a chart covers
_STACKED = ("column", "bar", "area", "line")


@dataclass(frozen=True, slots=True)
class ChartPlan:
    """A chart to be drawn, checked: columns are numbers."""

    kind: str
    title: str
    x: int | None
    y: list[int]
    at: tuple[int, int] | None
    x_title: str
    y_title: str
    stacked: bool

    @classmethod
    def read(cls, chart: object, column: Callable[[object], int], sheet: str) -> Self:
        """Check a chart as the caller describes it; `column` finds one by its name."""
        if not isinstance(chart, Mapping):
            raise ToolError(f'sheet {sheet}: a chart is a dict such as {{"type": "line", "x": "month", "y": "sales"}}')
        if unknown := sorted(set(map(str, chart)) - _PARTS):
            raise ToolError(
                f"sheet {sheet}: {unknown[0]!r} of a chart is unknown; the keys are {', '.join(sorted(_PARTS))}"
            )
        kind = str(chart.get("type", "column"))
        if kind not in _TYPES:
            raise ToolError(f"sheet {sheet}: there is no chart type {kind!r}; the types are {', '.join(_TYPES)}")
        y = chart.get("y")
        names = list(y) if isinstance(y, Sequence) and not isinstance(y, str) else [y]
        if not names or None in names:
            raise ToolError(f"sheet {sheet}: a chart needs y, the column or columns that it shows")
        stacked = bool(chart.get("stacked"))
        if stacked and kind not in _STACKED:
            raise ToolError(f"sheet {sheet}: a chart of the type {kind} cannot be stacked")
        return cls(
            kind=kind,
            title=str(chart.get("title") or ""),
            x=None if chart.get("x") is None else column(chart["x"]),
            y=[column(name) for name in names],
            at=None if chart.get("at") is None else parse_cell(str(chart["at"])),
            x_title=str(chart.get("x_title") or ""),
            y_title=str(chart.get("y_title") or ""),
            stacked=stacked,
        )


def add_chart(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    name: str,
    plan: ChartPlan,
    *,
    header: Sequence[str],
    rows: int,
    beside: int,
    number: int,
) -> None:
    """Draw a chart over the rows of a sheet; by default right of them, below the charts before it."""
    if not rows:
        raise ToolError(f"sheet {name}: a chart needs rows to show")
    first = 1 if header else 0
    last = first + rows - 1
    chart = book.add_chart({"type": plan.kind, **({"subtype": "stacked"} if plan.stacked else {})})
    for column in plan.y:
        title = [name, 0, column] if column < len(header) else column_name(column)
        series = {"name": title, "values": [name, first, column, last, column]}
        if plan.x is not None:
            series["categories"] = [name, first, plan.x, last, plan.x]
        chart.add_series(series)
    if plan.title:
        chart.set_title({"name": plan.title})
    if plan.kind not in ("pie", "doughnut"):
        chart.set_x_axis(
            {"name": plan.x_title or (header[plan.x] if plan.x is not None and plan.x < len(header) else "")}
        )
        chart.set_y_axis({"name": plan.y_title})
    place = plan.at or (number * _HEIGHT + 1, beside + 1)
    sheet.insert_chart(cell_name(*place), chart)
