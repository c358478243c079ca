"""A workbook that is read: its sheets, and windows of them as rows of plain values."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import python_calamine

from ot.errors import ToolError
from ot_packs.documents import Kind, check_archive, reading, recognise
from ot_packs.excel.cells import Area
from ot_packs.excel.sheet_parts import SheetPart, find_errors, look_through

Value: TypeAlias = str | float | bool | datetime.datetime | datetime.date | datetime.time | datetime.timedelta | None
_OTHERS = {
    **dict.fromkeys((Kind.CSV, Kind.TEXT), "text; plain Python reads it with the csv module"),
    **dict.fromkeys((Kind.OLE, Kind.BINARY, Kind.ZIP), "of an unknown kind"),
}
_VISIBLE = {"Visible": "visible", "Hidden": "hidden", "VeryHidden": "very hidden"}
_KINDS = {"WorkSheet": "sheet", "ChartSheet": "chart", "DialogSheet": "dialog", "MacroSheet": "macro", "Vba": "macro"}
_EXACT = 2**53  # up to which a workbook's numbers are whole without doubt


class Sheet:
    """One sheet; its rows are read when somebody asks for them."""

    def __init__(self, book: Workbook, name: str, kind: str, visible: str, part: SheetPart | None) -> None:
        self.name, self.kind, self.visible = name, kind, visible
        self._book, self._part = book, part
        self._calamine: python_calamine.CalamineSheet | None = None
        self._area: Area | None = None

    @property
    def has_formulas(self) -> bool:
        return self._part is not None and self._part.has_formulas

    @property
    def area(self) -> Area | None:
        """The rectangle in which it has anything; None if it is empty."""
        if self._part is not None and self.kind == "sheet":
            return self._part.area if self._part.placed else self._measured()
        with reading(self._book.path):
            sheet = self._load()
        if sheet.start is None or sheet.end is None:
            return None
        return Area(*sheet.start, *sheet.end)

    def rows(self, within: Area) -> Iterator[list[Value]]:
        """Yield the rows of a window, whatever of it is empty included."""
        part = self._part
        if part is not None and not part.fits:
            yield from _padded(self._streamed(within), within)
            return
        errors: Mapping[int, Mapping[int, str]] = {}
        if part is not None and part.has_errors:
            with reading(self._book.path):
                errors = find_errors(self._book.path, part.member, within)
        with reading(self._book.path):
            sheet = self._load()
            laid_out = itertools.islice(sheet.iter_rows(), within.top, within.bottom + 1)
        # The library gives rows from the first one on, and columns from the first that has anything.
        left = sheet.start[1] if sheet.start else 0
        for number, row in enumerate(_padded(laid_out, within, left), start=within.top):
            for column, error in errors.get(number, {}).items():
                row[column - within.left] = error
            yield row

    def lines(self, within: Area) -> Iterator[tuple[int, int, list[Value]]]:
        """Yield the rows of a window no longer than they are, each with its number and that of its first column."""
        if self._part is None or self._part.fits:
            yield from ((number, within.left, row) for number, row in enumerate(self.rows(within), start=within.top))
            return
        rows = self._streamed(within)
        for number, row in enumerate(rows, start=within.top):
            yield number, within.left, [_plain(value) for value in row[within.left : within.right + 1]]

    def merged(self, within: Area) -> list[Area]:
        if self._part is not None and not self._part.fits:
            return []
        with reading(self._book.path):
            ranges = self._load().merged_cell_ranges or []
        areas = (Area(*first, *last) for first, last in ranges)
        return [area for area in areas if area.meets(within)]

    def _load(self) -> python_calamine.CalamineSheet:
        if self._calamine is None:
            self._calamine = self._book.calamine.get_sheet_by_name(self.name)
        return self._calamine

    def _measured(self) -> Area | None:
        if self._area is None:
            bottom = right = -1
            for number, row in enumerate(self._streamed()):
                filled = [column for column, value in enumerate(row) if value is not None]
                if filled:
                    bottom, right = number, max(right, filled[-1])
            self._area = Area(0, 0, bottom, right)
        return self._area if self._area.bottom >= 0 else None

    def _streamed(self, within: Area | None = None) -> Iterator[tuple[object, ...]]:
        """Read rows one by one, as long as they are, of what is too far apart to lay out; it takes longer."""
        import openpyxl  # it takes ten times as long to load as the rest, and few sheets need it

        with reading(self._book.path), self._book.path.open("rb") as file:
            sheet = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)[self.name]
            sheet.reset_dimensions()  # what the file says of them
            rows = {"min_row": within.top + 1, "max_row": within.bottom + 1} if within else {}
            yield from sheet.iter_rows(**rows, values_only=True)


class Workbook:
    """A file of sheets, checked before a library opens it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = recognise(path)
        if self.kind not in {Kind.XLSX, Kind.XLSM, Kind.XLSB, Kind.XLS, Kind.ODS}:
            known = _OTHERS.get(self.kind, f"a file of the kind {self.kind}")
            raise ToolError(f"{path.name} is {known}, not a workbook")
        parts: dict[str, SheetPart] = {}
        if self.kind in (Kind.XLSX, Kind.XLSM):
            parts = look_through(path)
        elif self.kind in (Kind.XLSB, Kind.ODS):
            check_archive(path)
        with reading(path), path.open("rb") as file:
            self.calamine = python_calamine.load_workbook(file)
        self.sheets = [
            Sheet(self, about.name, _KINDS[_word(about.typ)], _VISIBLE[_word(about.visible)], parts.get(about.name))
            for about in self.calamine.sheets_metadata
        ]

    def sheet(self, wanted: str | int | None) -> Sheet:
        """Find a sheet by its name or its number, which counts from 1; the first by default."""
        if not self.sheets:
            raise ToolError(f"{self.path.name} has no sheets")
        if isinstance(wanted, int):
            if 1 <= wanted <= len(self.sheets):
                return self.sheets[wanted - 1]
        else:
            name = self.sheets[0].name if wanted is None else wanted
            found = [sheet for sheet in self.sheets if sheet.name.casefold() == name.casefold()]
            if found:
                return found[0]
        names = ", ".join(sheet.name for sheet in self.sheets[:20])
        raise ToolError(f"{self.path.name} has no sheet {wanted!r}; it has {names}")


def _word(member: object) -> str:
    """The name of an enum's member; the library's only look like enums."""
    return str(member).rpartition(".")[2]


def _padded(rows: Iterator[Iterable[object]], within: Area, first_column: int = 0) -> Iterator[list[Value]]:
    """Yield as many rows, and as wide ones, as the window is; those given begin at `first_column`."""
    width = within.right - within.left + 1
    missing = within.bottom - within.top + 1
    front: list[Value] = [None] * min(max(first_column - within.left, 0), width)
    left, right = max(within.left - first_column, 0), max(within.right - first_column + 1, 0)
    for row in rows:
        cells = front + [_plain(value) for value in itertools.islice(row, left, right)]
        yield cells + [None] * (width - len(cells))
        missing -= 1
    for _ in range(missing):
        yield [None] * width


def _plain(value: object) -> Value:
    """A cell's value: whole numbers as such, and nothing for an empty text."""
    if type(value) is str:
        return value or None
    if isinstance(value, float):
        return int(value) if value.is_integer() and -_EXACT < value < _EXACT else value
    if value is None:
        return None
    if isinstance(value, str | int | datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        return value
    return str(value)
