"""The report as a page: tables, bars by the statistics report's own drawing code, and curves beside them."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from bench.figures import Curve, Results, Row, Table
from bench.grids import build_grid, word_figure, word_value
from ot.stats.report import TEMPLATES, Bar, draw_bars

_COLOURS = "abc"
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Bars:
    """A row as bars on one scale; `words` are what stands beside each."""

    row: Row
    bars: list[Bar]
    words: list[str]


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    colour: str
    points: str
    dots: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A curve in percent of the room that there is, from the lower left corner."""

    lines: tuple[Line, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def render_page(results: Results) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = [(part, build_grid(part), _draw(part)) for part in results.parts]
    return environment.get_template("page.html.j2").render(
        results=results, parts=parts, nonce=secrets.token_urlsafe(16)
    )


def _draw(part: Table | Curve) -> list[Bars] | Plot:
    return draw_plot(part) if isinstance(part, Curve) else [_draw_row(part, row) for row in part.rows if _drawable(row)]


def _drawable(row: Row) -> bool:
    """Bars compare: one alone, or none, says nothing."""
    return bool(row.unit) and sum(figure.median is not None for figure in row.figures) > 1


def _draw_row(table: Table, row: Row) -> Bars:
    measured = [
        (name, figure) for name, figure in zip(table.columns, row.figures, strict=True) if figure.median is not None
    ]
    bars = draw_bars([(name, max(figure.median or 0, 0)) for name, figure in measured])
    return Bars(row, bars, [word_figure(figure, row.unit) for _, figure in measured])


def draw_plot(curve: Curve) -> Plot:
    every = [point for series in curve.series for point in series.points]
    x_place, x_ticks = _axis([x for x, _ in every], logarithmic=curve.logarithmic)
    y_place, y_ticks = _axis([y for _, y in every], logarithmic=curve.logarithmic)
    lines = []
    for number, series in enumerate(curve.series):
        placed = [(x_place(x), 100 - y_place(y), f"{word_value(x, '')}: {word_value(y, '')}") for x, y in series.points]
        points = " ".join(f"{x},{y}" for x, y, _ in placed)
        lines.append(Line(series.name, _COLOURS[number % len(_COLOURS)], points, tuple(placed)))
    return Plot(tuple(lines), x_ticks, tuple((100 - place, word) for place, word in y_ticks))


def _axis(
    values: Sequence[float], *, logarithmic: bool
) -> tuple[Callable[[float], float], tuple[tuple[float, str], ...]]:
    """A function that places a value, and the marks: powers of ten, or even steps from nought."""
    known = [value for value in values if value > 0] or [1.0]
    if logarithmic:
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        step = max(math.ceil((high - low) / _MOST_TICKS), 1)
        high = low + step * max(math.ceil((high - low) / step), 1)  # the last mark is the end of the axis

        def place(value: float) -> float:
            return round(100 * (math.log10(value) - low) / (high - low), 2) if value > 0 else 0.0

        marks = [10.0**power for power in range(low, high + 1, step)]
    else:
        most = max(known)

        def place(value: float) -> float:
            return round(100 * value / most, 2)

        marks = [most * part / 4 for part in range(5)]
    return place, tuple((place(mark), word_value(mark, "")) for mark in marks)
