"""New workbooks: sheets of rows with a header, tables, formats, widths and charts that the program draws itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.cells import Cell, Form, cell_for, cell_name, column_name, format_of
from ot_packs.excel.plans import ChartPlan, SheetPlan, read_plans

_WIDEST = 60  # characters that a column is made wide for by itself


def create_workbook(target: Path, sheets: Sequence[object], *, formulas: bool) -> list[tuple[SheetPlan, int]]:
    """Write a new workbook; returns its sheets with their numbers of formulas. Raises ToolError for a bad plan."""
    plans = read_plans(sheets, formulas=formulas)
    # Nothing is guessed from what a text looks like: neither formulas, nor links, nor numbers.
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "use_future_functions": True,
    }
    book = xlsxwriter.Workbook(str(target), options)
    made = [(plan, _SheetWriter(book, plan).write()) for plan in plans]
    book.close()
    return made


class _SheetWriter:
    def __init__(self, book: xlsxwriter.Workbook, plan: SheetPlan) -> None:
        self._book, self._plan = book, plan
        self._sheet: Worksheet = book.add_worksheet(plan.name)
        self._formats: dict[str, Format] = {}
        self._widths: dict[int, int] = {}
        self._formulas = 0

    def write(self) -> int:
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
        for column in range(plan.width):
            self._sheet.set_column(column, column, plan.widths.get(column, self._widths.get(column, 8) + 2))
        if plan.table and plan.rows and plan.header:
            self._add_table()
        if plan.freeze and plan.header:
            self._sheet.freeze_panes(1, 0)
        for number, chart in enumerate(plan.charts):
            self._add_chart(chart, number)
        return self._formulas

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

    def _add_table(self) -> None:
        plan = self._plan
        titles = plan.header + [column_name(column) for column in range(len(plan.header), plan.width)]
        if len({title.casefold() for title in titles}) < len(titles) or not all(title.strip() for title in titles):
            raise ToolError(f"sheet {plan.name}: the columns of a table need names that differ")
        columns = [{"header": title} for title in titles]
        self._sheet.add_table(0, 0, len(plan.rows), plan.width - 1, {"columns": columns})

    def _add_chart(self, plan: ChartPlan, number: int) -> None:
        """Draw a chart over the rows; by default right of them, below the charts before it."""
        name, header, rows = self._plan.name, self._plan.header, len(self._plan.rows)
        if not rows:
            raise ToolError(f"sheet {name}: a chart needs rows to show")
        first = 1 if header else 0
        last = first + rows - 1
        chart = self._book.add_chart({"type": plan.kind, **({"subtype": "stacked"} if plan.stacked else {})})
        for column in plan.y:
            title = [name, 0, column] if column < len(header) else column_name(column)
            series = {"name": title, "values": [name, first, column, last, column]}
            if plan.x is not None:
                series["categories"] = [name, first, plan.x, last, plan.x]
            chart.add_series(series)
        if plan.title:
            chart.set_title({"name": plan.title})
        if plan.kind not in ("pie", "doughnut"):
            x_title = header[plan.x] if plan.x is not None and plan.x < len(header) else ""
            chart.set_x_axis({"name": plan.x_title or x_title})
            chart.set_y_axis({"name": plan.y_title})
        place = plan.at or (number * 16 + 1, self._plan.width + 1)  # rows that a chart covers
        self._sheet.insert_chart(cell_name(*place), chart)
