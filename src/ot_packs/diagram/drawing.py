"""Draws a source in either language; runs in a helper process, where the libraries are at home."""

from __future__ import annotations

import re
from typing import Literal

from ot.errors import ToolError
from ot.values import Image
from ot_packs.diagram.graphviz import draw_graphviz, is_graphviz
from ot_packs.diagram.mermaid import draw_mermaid
from ot_packs.pictures.fonts import require_fonts
from ot_packs.pictures.written import Written, format_of, write_picture

_FORMATS = ("png", "svg")
_MAX_PIXELS = 40_000_000
_VIEW = re.compile(r'viewBox="[-\d.e]+ [-\d.e]+ ([\d.e]+) ([\d.e]+)"')


def draw_diagram(
    source: str,
    *,
    engine: str = "dot",
    width: int | None = None,
    background: str = "white",
    allow_boxes: bool = False,
    output: str | None = None,
) -> Image | Written:
    """Return the picture, or write it to `output`; raises MistakeError, or ToolError where it would be too large."""
    form = format_of(output, _FORMATS)
    if not allow_boxes:
        require_fonts([source])
    svg = draw_mermaid(source) if language_of(source) == "mermaid" else draw_graphviz(source, engine)
    picture = svg.encode() if form == "svg" else _rasterise(svg, width, background)
    return write_picture(picture, output, form) if output else Image(picture, "image/png")


def language_of(source: str) -> Literal["graphviz", "mermaid"]:
    """Return the language of a source: what does not begin as DOT is taken for Mermaid, which has many beginnings."""
    return "graphviz" if is_graphviz(source) else "mermaid"


def _rasterise(svg: str, width: int | None, background: str) -> bytes:
    import novasvg

    document = novasvg.Document.load_from_data(svg)
    if document is None:
        raise ToolError("the drawing cannot be rendered as pixels; use an .svg output")
    _check_size(svg, width)
    bitmap = document.render_to_bitmap(width or -1, -1, novasvg.Color(background))
    return bytes(bitmap.to_png())


def _check_size(svg: str, width: int | None) -> None:
    view = _VIEW.search(svg[:5000])
    if view is None:
        return
    wide, high = float(view[1]), float(view[2])
    factor = width / wide if width and wide else 1.0
    if wide * high * factor * factor > _MAX_PIXELS:
        raise ToolError(
            f"{wide * factor:.0f} by {high * factor:.0f} pixels are too many; pass a smaller width, "
            "or an output that ends in .svg"
        )
