"""A table of a profile: readable on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

Cell = str | int | float


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` are named with their units; the first names the rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def as_json(self) -> dict[str, object]:
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {**asdict(self), "rows": rows}

    def as_text(self) -> str:
        lines = [self.columns, *([_word(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = "\n".join(_align(line, widths) for line in lines)
        return "\n".join(part for part in (self.title, text, self.note) if part)


def _align(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(line, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return "  " + "  ".join(cells).rstrip()


def _word(cell: Cell) -> str:
    match cell:
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case _:
            return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
