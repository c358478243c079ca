"""Workbooks as Markdown: a table a sheet, as far as a reader would follow it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ot_packs.convert.parts import Document, Part, Picture, Table, markdown_table, pictures_in
from ot_packs.documents.kinds import Kind
from ot_packs.excel.windows import read_window
from ot_packs.excel.workbook import Workbook

MAX_ROWS = 2000  # of a sheet; `excel.read` has them all


class Sheets(Document):
    """A workbook that is open."""

    unit = "sheet"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._book = Workbook(path)
        self.total = len(self._book.sheets)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        for number in numbers:
            sheet = self._book.sheets[number - 1]
            window = read_window(sheet, None, header=False, limit=MAX_ROWS, offset=0)
            hidden = "" if sheet.visible == "visible" else f" ({sheet.visible})"
            blocks = [f"## {sheet.name}{hidden}", markdown_table(window["rows"])]
            if window["more"]:
                shown = len(window["rows"])
                rest = window["total"] - shown
                blocks.append(f"{rest} more rows: excel.read(path=..., sheet={sheet.name!r}, offset={shown})")
            yield Part(number, "\n\n".join(block for block in blocks if block))

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        for number in numbers:
            sheet = self._book.sheets[number - 1]
            window = read_window(sheet, None, header=False, limit=MAX_ROWS, offset=0)
            if window["rows"]:
                rows = [["" if value is None else str(value) for value in row] for row in window["rows"]]
                yield Table(number, sheet.name, rows)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return pictures_in(self.path, "xl/media/") if self._book.kind is not Kind.XLS else iter(())
