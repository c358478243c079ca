"""Draws a Vega-Lite specification; runs in a helper process, where the library is at home."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from ot.errors import ToolError
from ot.values import Image
from ot_packs.chart.specification import MAX_PIXELS, ChartRows, fill_in, texts_of
from ot_packs.pictures.fonts import require_fonts
from ot_packs.pictures.written import Written, format_of, write_picture

_FORMATS = ("png", "svg", "jpeg", "pdf")
_NO_ADDRESS: list[str] = []  # or Vega would load what a specification names


def draw_chart(
    spec: Mapping[str, object],
    rows: ChartRows | None,
    *,
    theme: str | None = None,
    scale: float = 1.0,
    allow_boxes: bool = False,
    output: str | None = None,
) -> Image | Written:
    """Return the picture, or write it to `output`, whose ending says in which format; raises ToolError."""
    form = format_of(output, _FORMATS)
    filled = fill_in(spec, rows)
    if not allow_boxes:
        require_fonts(texts_of(filled))
    picture = _convert(_draw(filled, theme), form, scale)
    return write_picture(picture, output, form) if output else Image(picture, "image/png")


def _draw(spec: dict[str, object], theme: str | None) -> str:
    """Return the chart as SVG; raises ToolError."""
    import vl_convert

    if theme is not None and theme not in (themes := vl_convert.get_themes()):
        raise ToolError(f"there is no theme {theme!r}; the themes are {', '.join(sorted(themes))}")
    try:
        return str(vl_convert.vegalite_to_svg(spec, theme=theme, allowed_base_urls=_NO_ADDRESS))
    except ValueError as error:
        with suppress(ValueError):
            vl_convert.get_themes()  # what its JavaScript has left undone would otherwise fail the next chart
        raise ToolError(f"Vega-Lite cannot draw this: {_reason(str(error))}") from error


def _convert(svg: str, form: str, scale: float) -> bytes:
    import vl_convert

    _check_size(svg, scale)
    match form:
        case "svg":
            return svg.encode()
        case "pdf":
            return bytes(vl_convert.svg_to_pdf(svg, scale=scale))
        case "jpeg":
            return bytes(vl_convert.svg_to_jpeg(svg, scale=scale))
        case _:
            return bytes(vl_convert.svg_to_png(svg, scale=scale))


def _check_size(svg: str, scale: float) -> None:
    size = re.search(r'<svg[^>]*\swidth="([\d.]+)"[^>]*\sheight="([\d.]+)"', svg[:2000])
    if size is not None and float(size[1]) * float(size[2]) * scale * scale > MAX_PIXELS:
        raise ToolError(
            f"{float(size[1]):.0f} by {float(size[2]):.0f} at scale {scale:g} are more than {MAX_PIXELS} pixels"
        )


def _reason(text: str) -> str:
    """The library's sentence without its stack of JavaScript."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    return " ".join(lines[1:] or lines)[:500]


def as_specification(spec: Mapping[str, object] | str) -> Mapping[str, object]:
    """Return a specification that may have been given as JSON text; raises ToolError."""
    if not isinstance(spec, str):
        return spec
    try:
        value = json.loads(spec)
    except ValueError as error:
        raise ToolError(f"the specification is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ToolError("the specification is not a JSON object")
    return value
