"""Tables on a page of a PDF that are drawn with lines: each cell is what lies between them, however it is wrapped."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw

from ot_packs.convert.pdf_tables import Box, Grid

_THIN = 3.0  # points; a filled shape that is no wider is a line
_NEAR = 3.0  # points between lines that are meant to be one, or to meet
_INSIDE = 1.5  # points from a line to the text of a cell
Point = tuple[float, float]


class Rule(NamedTuple):
    """A line that is upright or level: where it is, and from where to where it goes."""

    at: float
    start: float
    end: float


class Rules(NamedTuple):
    upright: list[Rule]
    level: list[Rule]


def find_rules(page: pypdfium2.PdfPage) -> Rules:
    """Return the lines of a page; none if it is a drawing."""
    found = Rules([], [])
    points = 0
    for path in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_PATH], max_depth=5):
        points += max(pypdfium2.raw.FPDFPath_CountSegments(path), 0)
        if points > 20_000:  # of the paths of a page; what has more is a drawing
            return Rules([], [])
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pypdfium2.raw.FPDFPath_GetDrawMode(path, fill, stroke)
        edges = list(_edges(path))
        for edge in edges if stroke.value else ():
            _take(found, edge, 1)
        if fill.value and edges:  # many programs draw a line as a thin shape that is filled
            _take(found, [point for edge in edges for point in edge], _THIN)
    joined = Rules(_join(found.upright), _join(found.level))
    return joined if max(map(len, joined)) <= 500 else Rules([], [])


def _edges(path: pypdfium2.PdfObject) -> Iterator[tuple[Point, Point]]:
    """Yield the straight pieces of a path, where they are on the page."""
    first = last = (0.0, 0.0)
    for number in range(pypdfium2.raw.FPDFPath_CountSegments(path)):
        segment = pypdfium2.raw.FPDFPath_GetPathSegment(path, number)
        x, y = ctypes.c_float(), ctypes.c_float()
        pypdfium2.raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = x.value, y.value
        inside: pypdfium2.PdfObject | None = path
        while inside is not None:
            point = inside.get_matrix().on_point(*point)
            inside = inside.container
        kind = pypdfium2.raw.FPDFPathSegment_GetType(segment)
        if kind == pypdfium2.raw.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == pypdfium2.raw.FPDF_SEGMENT_LINETO:
            yield last, point
        if pypdfium2.raw.FPDFPathSegment_GetClose(segment):
            yield point, first
        last = point


def _take(found: Rules, corners: Sequence[Point], thin: float) -> None:
    """Take a shape that is a line: much longer than it is wide."""
    (left, right), (low, high) = ((min(places), max(places)) for places in zip(*corners, strict=True))
    if right - left <= thin < high - low:
        found.upright.append(Rule((left + right) / 2, low, high))
    elif high - low <= thin < right - left:
        found.level.append(Rule((low + high) / 2, left, right))


def _join(rules: Sequence[Rule]) -> list[Rule]:
    """Put lines that are nearly in one place into one, and join those that go on in one another."""
    placed: list[list[Rule]] = []
    for rule in sorted(rules):
        if placed and rule.at - placed[-1][0].at <= _NEAR:
            placed[-1].append(rule)
        else:
            placed.append([rule])
    joined: list[Rule] = []
    for group in placed:
        at = sum(rule.at for rule in group) / len(group)
        begun = len(joined)
        for rule in sorted(group, key=lambda rule: rule.start):
            if len(joined) > begun and rule.start <= joined[-1].end + _NEAR:
                joined[-1] = Rule(at, joined[-1].start, max(joined[-1].end, rule.end))
            else:
                joined.append(Rule(at, rule.start, rule.end))
    return joined


def find_ruled_grids(rules: Rules) -> list[Grid]:
    """Return the tables that the lines of a page make, from its top to its bottom."""
    grids = [grid for upright, level in _groups(rules) if (grid := _grid(upright, level)) is not None]
    return sorted(grids, key=lambda grid: -grid.top)


def _groups(rules: Rules) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Yield lines that are connected, since each meets another one."""
    waiting = list(rules.upright)
    levels = list(rules.level)
    while waiting:
        new = [waiting.pop()]
        upright, level = list(new), list[Rule]()
        while new:
            near = [rule for rule in levels if any(_meet(other, rule) for other in new)]
            levels = [rule for rule in levels if rule not in near]
            level += near
            new = [rule for rule in waiting if any(_meet(rule, other) for other in near)]
            waiting = [rule for rule in waiting if rule not in new]
            upright += new
        yield upright, level


def _meet(upright: Rule, level: Rule) -> bool:
    return (
        level.start - _NEAR <= upright.at <= level.end + _NEAR
        and upright.start - _NEAR <= level.at <= upright.end + _NEAR
    )


def _grid(upright: Sequence[Rule], level: Sequence[Rule]) -> Grid | None:
    if not level:
        return None
    ends = [min(rule.start for rule in level), max(rule.end for rule in level)]
    xs = _places([*(rule.at for rule in upright), *ends])
    ends = [min(rule.start for rule in upright), max(rule.end for rule in upright)]
    ys = _places([*(rule.at for rule in level), *ends])[::-1]
    height, width = len(ys) - 1, len(xs) - 1
    if height < 2 or width < 2 or height * width > 5000:
        return None
    rows: list[list[Box | None]] = [[None] * width for _ in range(height)]
    taken: set[tuple[int, int]] = set()
    for row in range(height):
        for column in range(width):
            if (row, column) not in taken:
                right, below = _reach(row, column, xs, ys, upright, level)
                taken |= {(r, c) for r in range(row, below) for c in range(column, right)}
                left, top = xs[column] + _INSIDE, ys[row] - _INSIDE
                rows[row][column] = Box(left, ys[below] + _INSIDE, xs[right] - _INSIDE, top)
    return Grid(ys[0], ys[-1], rows, xs[0], xs[-1])


def _places(numbers: Sequence[float]) -> list[float]:
    """Return different numbers in their order; those that are near each other are one."""
    places: list[float] = []
    for number in sorted(numbers):
        if not places or number - places[-1] > 2 * _NEAR:
            places.append(number)
    return places


def _reach(
    row: int, column: int, xs: Sequence[float], ys: Sequence[float], upright: Sequence[Rule], level: Sequence[Rule]
) -> tuple[int, int]:
    """Return the column and the row after a cell, which goes on until a line ends it."""
    right, below = column + 1, row + 1
    while right < len(xs) - 1 and not _covers(upright, xs[right], (ys[row] + ys[row + 1]) / 2):
        right += 1
    while below < len(ys) - 1 and not _covers(level, ys[below], (xs[column] + xs[column + 1]) / 2):
        below += 1
    return right, below


def _covers(rules: Sequence[Rule], at: float, middle: float) -> bool:
    return any(abs(rule.at - at) <= 2 * _NEAR and rule.start <= middle <= rule.end for rule in rules)
