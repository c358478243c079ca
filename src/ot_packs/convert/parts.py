"""The parts of a document, pages, slides, sheets or chapters, and which of them were asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from ot.errors import ToolError

_PIECE = re.compile(r"(\d{1,9})?(\s*-\s*)?(\d{1,9})?")


class Part(NamedTuple):
    """One part of a document as Markdown; numbers count from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a document."""

    part: int
    name: str
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a document."""

    part: int  # 0 where that is not known
    name: str
    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PartChoice:
    """The parts to read of those that there are."""

    numbers: list[int]
    more: bool  # there are parts asked for beyond the limit


def choose(pages: str | int | None, total: int, limit: int) -> PartChoice:
    """Read `"1-3,7"`, `"5-"` or a number; everything by default, and never more than the limit."""
    if limit < 1:
        raise ToolError("limit must be at least 1")
    if pages is None or pages == "":
        return PartChoice(list(range(1, min(total, limit) + 1)), more=total > limit)
    numbers: list[int] = []
    for piece in str(pages).split(","):
        first, last = _bounds(piece.strip(), total)
        # One beyond the limit is enough to know that there is more.
        numbers += [number for number in range(first, min(last, first + limit) + 1) if number not in numbers]
    wanted = [number for number in numbers if number <= total]
    if not wanted:
        raise ToolError(f"there is no page {pages!r}; the document has {total}")
    return PartChoice(wanted[:limit], more=len(wanted) > limit)


def _bounds(piece: str, total: int) -> tuple[int, int]:
    found = _PIECE.fullmatch(piece)
    if not piece or found is None or not (found[1] or found[3]):
        raise ToolError(f'{piece[:40]!r} is not a page; pages are written like "3", "2-5" or "1,4,7-"')
    first = int(found[1] or 1)
    last = int(found[3] or total) if found[2] else first
    if not 1 <= first <= last:
        raise ToolError(f"{piece[:40]!r} is not a range of pages: page numbers count from 1 upwards")
    return first, last
