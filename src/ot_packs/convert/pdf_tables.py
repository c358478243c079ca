"""Tables on a page of a PDF, which has no word for them: texts that stand below each other with gaps between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

MAX_BOXES = 4000  # on a page; what has more is drawn, not written
_ROWS, _COLUMNS = 2, 2  # that a table has at least; one of them has one more
Interval = tuple[float, float]
Stroke = tuple[float, float, float]
"""A level line: how high it is, where it begins and where it ends."""


class Box(NamedTuple):
    """Where a piece of text stands: points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def joined(self, other: Box) -> Box:
        return Box(
            min(self.left, other.left),
            min(self.bottom, other.bottom),
            max(self.right, other.right),
            max(self.top, other.top),
        )


TextLine = list[Box]
"""The pieces of text on one line, from left to right, with gaps between them."""


class Grid(NamedTuple):
    """A table: where it is, and the place of each cell's text."""

    top: float
    bottom: float
    rows: list[list[Box | None]]
    left: float
    right: float


def find_grids(boxes: Sequence[Box], page_width: float, strokes: Sequence[Stroke] = ()) -> list[Grid]:
    """Find the tables among the texts of a page, from its top to its bottom; lines may separate their rows."""
    if len(boxes) > MAX_BOXES:
        return []
    lines = _lines([box for box in boxes if box.right > box.left and box.top > box.bottom])
    grids = []
    start = 0
    while start < len(lines):
        end = _run(lines, start, strokes)
        grid = _grid(lines[start:end], page_width, strokes) if end - start >= _ROWS else None
        if grid is not None:
            grids.append(grid)
        start = end
    return grids


def _lines(boxes: Sequence[Box]) -> list[TextLine]:
    """Put boxes that stand beside each other on one line, and join those with no more than a space between."""
    lines: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: -(box.top + box.bottom)):
        if lines:
            reference = lines[-1][0]
            shared = min(box.top, reference.top) - max(box.bottom, reference.bottom)
            if shared > 0.5 * min(box.height, reference.height):
                lines[-1].append(box)
                continue
        lines.append([box])
    return [_joined(line) for line in lines]


def _joined(line: list[Box]) -> TextLine:
    if len(line) == 1:
        return line
    line.sort()
    space = max(box.height for box in line)
    pieces = [line[0]]
    for box in line[1:]:
        if box.left - pieces[-1].right <= space:
            pieces[-1] = pieces[-1].joined(box)
        else:
            pieces.append(box)
    return pieces


def _run(lines: Sequence[TextLine], start: int, strokes: Sequence[Stroke]) -> int:
    """Return the end of the lines from `start` on that have their gaps in the same places."""
    columns = _columns(lines[start])
    if len(columns) < _COLUMNS:
        return start + 1
    end = start + 1
    while end < len(lines) and _follows(lines[end - 1], lines[end]):
        merged = _merge([*columns, *_columns(lines[end])])
        if len(merged) < max(len(columns), _COLUMNS):
            break
        columns = merged
        end += 1
    # A line of one piece at the end belongs to what comes after, unless a stroke ends the table right below it.
    across = _across(columns, strokes)
    while end > start + 1 and len(line := lines[end - 1]) < _COLUMNS:
        low, height = min(box.bottom for box in line), max(box.height for box in line)
        if any(low - 1.5 * height <= at <= low for at in across):
            break
        end -= 1
    return end


def _across(columns: Sequence[Interval], strokes: Sequence[Stroke]) -> list[float]:
    """Return how high the strokes are that go through all columns."""
    left, right = columns[0][1], columns[-1][0]
    return [at for at, start, end in strokes if start <= left and right <= end]


def _follows(line: TextLine, after: TextLine) -> bool:
    """True if there is no more than a blank line between the two."""
    height = max(box.height for box in (*line, *after))
    return min(box.bottom for box in line) - max(box.top for box in after) <= 2.5 * height


def _columns(line: TextLine) -> list[Interval]:
    return [(box.left, box.right) for box in line]


def _merge(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for left, right in sorted(intervals):
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return merged


def _grid(lines: Sequence[TextLine], page_width: float, strokes: Sequence[Stroke]) -> Grid | None:
    columns = _merge([interval for line in lines for interval in _columns(line)])
    full = sum(len(line) >= _COLUMNS for line in lines)
    if full < _ROWS or len(columns) < _COLUMNS or full + len(columns) < _ROWS + _COLUMNS + 1:
        return None
    if _is_prose(lines, columns, page_width):
        return None
    boxes = [box for line in lines for box in line]
    rows = _rows(lines, columns, _across(columns, strokes))
    left, right = min(box.left for box in boxes), max(box.right for box in boxes)
    return Grid(max(box.top for box in boxes), min(box.bottom for box in boxes), rows, left, right)


def _is_prose(lines: Sequence[TextLine], columns: Sequence[Interval], page_width: float) -> bool:
    """True for text in newspaper columns: a few wide ones, nearly every line filled to the end."""
    if len(columns) > 3:
        return False
    for left, right in columns:
        widths = [box.right - box.left for line in lines for box in line if left <= box.left and box.right <= right]
        filled = sum(width > 0.85 * (right - left) for width in widths)
        if right - left < 0.2 * page_width or filled < 0.6 * len(widths):
            return False
    return True


Row = list[Box | None]


def _rows(lines: Sequence[TextLine], columns: Sequence[Interval], cuts: Sequence[float]) -> list[Row]:
    """Put each piece into its column; what is wrapped goes on in the cells above."""
    # Where strokes separate all rows, all lines between two of them are one row. Otherwise a line is wrapped that is
    # close below another one and has no first cell.
    placed = [_placed(line, columns) for line in lines]
    tops = [max(box.top for box in line) for line in lines]
    bands = [sum(cut > top - 1 for cut in cuts) for top in tops]
    pitch = median([above - below for above, below in pairwise(tops)])
    # Two first cells in one band would be rows of their own.
    firsts = [band for row, band in zip(placed, bands, strict=True) if row[0] is not None]
    separated = len(set(bands)) >= 3 and len(set(firsts)) == len(firsts)
    rows: list[Row] = []
    for number, row in enumerate(placed):
        close = number > 0 and tops[number - 1] - tops[number] < 0.8 * pitch and row[0] is None
        same = number > 0 and bands[number] == bands[number - 1]
        if rows and (same if separated else close):
            rows[-1] = [_both(above, below) for above, below in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


def _placed(line: TextLine, columns: Sequence[Interval]) -> Row:
    row: Row = [None] * len(columns)
    for box in line:
        column = next(index for index, (_, right) in enumerate(columns) if box.left <= right)
        row[column] = _both(row[column], box)
    return row


def _both(above: Box | None, below: Box | None) -> Box | None:
    if above is None or below is None:
        return above or below
    return above.joined(below)
