"""A part of the report as a grid of texts, for a terminal, a page and the documentation alike."""

from __future__ import annotations

from dataclasses import dataclass

from bench.figures import Curve, Figure, Part, Row, Series, Table


@dataclass(frozen=True, slots=True)
class Grid:
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build_grid(part: Part) -> Grid:
    return _grid_of_table(part) if isinstance(part, Table) else _grid_of_curve(part)


def word_figure(figure: Figure, unit: str) -> str:
    """A figure in a cell: 12.3 ms (11.9 to 14), and what is to be known about it."""
    if figure.median is None:
        return figure.note or "–"
    text = word_value(figure.median, unit)
    if figure.spread:
        least, most = (word_value(end, "") for end in figure.spread)
        text += f" ({least} to {most})"
    return f"{text}; {figure.note}" if figure.note else text


def word_value(value: float, unit: str) -> str:
    """Three digits, or all of a large number."""
    number = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {unit}".rstrip().replace("-", "−")


def _grid_of_table(table: Table) -> Grid:
    return Grid(("", *table.columns), tuple(_cells(row) for row in table.rows))


def _cells(row: Row) -> tuple[str, ...]:
    return row.name, *(word_figure(figure, row.unit) for figure in row.figures)


def _grid_of_curve(curve: Curve) -> Grid:
    """One line a point of the x axis, one column a series."""
    known = [_word_points(series) for series in curve.series]
    places = sorted({x for series in curve.series for x, _ in series.points})
    rows = ((word_value(x, ""), *(points.get(x, "–") for points in known)) for x in places)
    return Grid((curve.x, *(f"{series.name}, {curve.y}" for series in curve.series)), tuple(rows))


def _word_points(series: Series) -> dict[float, str]:
    spreads = series.spreads or tuple((y, y) for _, y in series.points)
    return {
        x: word_figure(Figure((least, y, most)) if least < most else Figure((y,)), "")
        for (x, y), (least, most) in zip(series.points, spreads, strict=True)
    }
