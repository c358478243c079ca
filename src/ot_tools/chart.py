"""Charts from rows: bars, lines, points and anything else Vega-Lite draws, as a picture or a file."""

from __future__ import annotations

from typing import Any, Literal

from ot.effects import idempotent
from ot.isolate import isolated
from ot.values import Image
from ot_packs.chart import ChartRows, UsualChart, as_specification, draw_chart, encode
from ot_packs.pictures import Written

pack = "chart"
needs = {"vl_convert": "vl-convert-python>=1.9"}


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def draw(
    *,
    spec: dict[str, Any] | str,
    rows: list[dict[str, Any]] | None = None,
    theme: str | None = None,
    scale: float = 1.0,
    allow_boxes: bool = False,
    output: str | None = None,
) -> Image | Written:
    """Draw any Vega-Lite specification.

    Args:
        spec: The specification, as a dict or as JSON text. It cannot load data: `url` is refused.
        rows: The data, in place of the specification's own.
        theme: A theme such as "dark", "ggplot2" or "fivethirtyeight".
        scale: Pixels per unit of the specification.
        allow_boxes: Draw boxes for characters that no installed font has; without it they are an error.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.draw(
            rows=[{"day": 1, "n": 3}, {"day": 2, "n": 5}],
            spec={"mark": "area", "encoding": {"x": {"field": "day"}, "y": {"field": "n", "type": "quantitative"}}},
        )
    """
    return draw_chart(as_specification(spec), rows, theme=theme, scale=scale, allow_boxes=allow_boxes, output=output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def bar(
    *,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    color: str | None = None,
    horizontal: bool = False,
    stacked: bool = True,
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw a bar chart, one bar for each value of `x`, in the order of the rows.

    Args:
        rows: The data.
        x: The field with the bars' names.
        y: The field with their lengths.
        color: A field that divides each bar into parts.
        horizontal: Draw horizontal bars, which leave room for long names.
        stacked: Stack the parts of a bar; False puts them side by side.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.bar(rows=[{"fruit": "apple", "n": 3}, {"fruit": "pear", "n": 5}], x="fruit", y="n", title="Sold")
    """
    spec = encode("bar", rows, x=x, y=y, color=color)
    channels = spec["encoding"]
    channels["x"] |= {"type": "nominal", "sort": None}
    if color is not None and not stacked:
        channels["yOffset" if horizontal else "xOffset"] = {"field": channels["color"]["field"]}
    if horizontal:
        channels["x"], channels["y"] = channels["y"], channels["x"]
    return _draw_usual(spec, rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def line(
    *,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    color: str | None = None,
    points: bool = False,
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw a line chart over numbers or times.

    Args:
        rows: The data.
        x: The field for the horizontal axis: numbers, or dates and times in ISO format.
        y: The field for the vertical axis.
        color: A field with one line for each of its values.
        points: Mark each value on the line.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.line(rows=[{"day": f"2026-01-{d:02}", "n": d * d} for d in range(1, 20)], x="day", y="n")
    """
    spec = encode("line", rows, x=x, y=y, color=color)
    spec["mark"]["point"] = points
    return _draw_usual(spec, rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def area(
    *,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    color: str | None = None,
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw an area chart over numbers or times, stacked if `color` divides it.

    Args:
        rows: The data.
        x: The field for the horizontal axis: numbers, or dates and times in ISO format.
        y: The field for the vertical axis.
        color: A field with one area for each of its values.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.area(rows=[{"t": t, "n": t * t, "kind": k} for t in range(9) for k in "ab"], x="t", y="n", color="kind")
    """
    return _draw_usual(encode("area", rows, x=x, y=y, color=color), rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def scatter(
    *,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    color: str | None = None,
    size: str | None = None,
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw a scatter plot, one point for each row.

    Args:
        rows: The data.
        x: The field for the horizontal axis.
        y: The field for the vertical axis.
        color: A field that sets the colours of the points.
        size: A field that sets the sizes of the points.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.scatter(rows=[{"a": n, "b": n * n % 17} for n in range(50)], x="a", y="b")
    """
    spec = encode("point", rows, x=x, y=y, color=color, size=size)
    spec["mark"]["filled"] = True
    return _draw_usual(spec, rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def pie(
    *, rows: list[dict[str, Any]], label: str, value: str, title: str | None = None, output: str | None = None
) -> Image | Written:
    """Draw a pie chart: the parts of a whole as slices.

    Args:
        rows: The data.
        label: The field with the slices' names.
        value: The field with their sizes.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.pie(rows=[{"part": "rent", "eur": 700}, {"part": "food", "eur": 300}], label="part", value="eur")
    """
    return _draw_usual(encode("arc", rows, theta=value, color=label), rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def histogram(
    *,
    rows: list[dict[str, Any]],
    x: str,
    bins: int = 20,
    color: str | None = None,
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw a histogram: how often values of a number occur.

    Args:
        rows: The data.
        x: The field with the numbers.
        bins: Maximum number of bars.
        color: A field that divides each bar into parts.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.histogram(rows=[{"ms": n * n % 97} for n in range(300)], x="ms")
    """
    spec = encode("bar", rows, x=x, color=color)
    spec["encoding"]["x"]["bin"] = {"maxbins": bins}
    spec["encoding"]["y"] = {"aggregate": "count", "title": "count"}
    return _draw_usual(spec, rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def heatmap(
    *, rows: list[dict[str, Any]], x: str, y: str, value: str, title: str | None = None, output: str | None = None
) -> Image | Written:
    """Draw a heatmap: a table of coloured cells.

    Args:
        rows: The data, one row for each cell.
        x: The field with the columns.
        y: The field with the lines.
        value: The field with the numbers that are shown as colours.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.heatmap(rows=[{"d": d, "h": h, "n": d * h} for d in (1, 2, 3) for h in (8, 9)], x="d", y="h", value="n")
    """
    spec = encode("rect", rows, x=x, y=y, color=value)
    for channel in ("x", "y"):
        spec["encoding"][channel] |= {"type": "ordinal", "sort": None}
    return _draw_usual(spec, rows, title, output)


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def box(
    *,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    extent: Literal["min-max", "1.5"] = "1.5",
    title: str | None = None,
    output: str | None = None,
) -> Image | Written:
    """Draw box plots: median, quartiles and outliers of the numbers in each group.

    Args:
        rows: The data.
        x: The field with the groups.
        y: The field with the numbers.
        extent: How far the whiskers reach: to the extremes, or 1.5 times the interquartile range.
        title: A heading.
        output: A .png, .svg, .jpeg or .pdf file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        chart.box(rows=[{"team": t, "ms": n * n % 83} for t in ("a", "b") for n in range(40)], x="team", y="ms")
    """
    spec = encode("boxplot", rows, x=x, y=y)
    spec["encoding"]["x"] |= {"type": "nominal", "sort": None}
    spec["mark"]["extent"] = extent if extent == "min-max" else float(extent)
    return _draw_usual(spec, rows, title, output)


def _draw_usual(spec: UsualChart, rows: ChartRows, title: str | None, output: str | None) -> Image | Written:
    size = {"width": 600, "height": 350}
    return draw_chart({**spec, **size, **({"title": title} if title else {})}, rows, output=output)
