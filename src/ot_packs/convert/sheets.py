"""Workbooks as Markdown: a table a sheet, as far as a reader would follow it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from ot_packs.convert.parts import Document, Part, Picture, Table, markdown_table, pictures_in
from ot_packs.documents import Kind
from ot_packs.excel.windows import read_window
from ot_packs.excel.workbook import Sheet, Value, Workbook

MAX_ROWS = 100_000  # of a sheet as text; `excel.read` has them all


class Sheets(Document):
    unit = "sheet"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._book = Workbook(path)
        self.total = len(self._book.sheets)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        for number in numbers:
            sheet = self._book.sheets[number - 1]
            rows = list(itertools.islice(_rows(sheet), MAX_ROWS + 1))
            hidden = "" if sheet.visible == "visible" else f" ({sheet.visible})"
            blocks = [f"## {sheet.name}{hidden}", markdown_table(rows[:MAX_ROWS])]
            cut = len(rows) > MAX_ROWS
            if cut:
                blocks.append(f"More rows: excel.read(path=..., sheet={sheet.name!r}, offset={MAX_ROWS})")
            yield Part(number, "\n\n".join(block for block in blocks if block), cut)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        for number in numbers:
            sheet = self._book.sheets[number - 1]
            if sheet.area is not None:
                rows = (["" if value is None else str(value) for value in row] for row in _rows(sheet))
                yield Table(number, sheet.name, rows)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return pictures_in(self.path, "xl/media/") if self._book.kind is not Kind.XLS else iter(())


def _rows(sheet: Sheet) -> Iterator[list[Value]]:
    """Yield all rows of a sheet, window by window."""
    offset, more = 0, True
    while more:
        window = read_window(sheet, None, header=False, limit=10_000, offset=offset)
        yield from window["rows"]
        offset += len(window["rows"])
        more = window["more"]
