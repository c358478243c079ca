"""Diagrams from text: Mermaid and Graphviz, as a picture or a file; mistakes are reported with their line."""

from __future__ import annotations

from typing import Literal, TypedDict

from ot.effects import idempotent, reads
from ot.isolate import isolated
from ot.values import Image
from ot_packs.diagram import EXAMPLES, MistakeError, draw_diagram, language_of
from ot_packs.pictures import Written

pack = "diagram"
needs = {"mmdr": "mmdr>=0.4", "mermaidx": "mermaidx>=0.10", "pygraphviz": "pygraphviz>=2.0.4"}


class Check(TypedDict):
    """The result of a check: `ok`, or the place of the mistake."""

    ok: bool
    language: str
    line: int | None
    text: str
    reason: str


@idempotent
@isolated(reads=("{fonts}",), outputs=("{output}",))
def render(
    *,
    source: str,
    engine: Literal["dot", "neato", "fdp", "twopi", "circo", "osage", "patchwork"] = "dot",
    width: int | None = None,
    background: str = "white",
    allow_boxes: bool = False,
    output: str | None = None,
) -> Image | Written:
    """Draw a diagram written in Mermaid or in Graphviz's DOT.

    Args:
        source: The diagram; DOT begins with `graph {` or `digraph {`, everything else is Mermaid.
        engine: The layout engine of Graphviz; ignored for Mermaid.
        width: Width in pixels; by default the width of the drawing.
        background: A colour, or "transparent".
        allow_boxes: Draw boxes for characters that no installed font has; without it they are an error.
        output: A .png or .svg file to write; without one the picture is returned.

    Returns:
        The picture, or the `path`, `format` and `size` in bytes of the file.

    Example:
        diagram.render(source="flowchart LR\\n  A[Order] --> B{Paid?}\\n  B -->|yes| C[Ship]")
    """
    return draw_diagram(
        source, engine=engine, width=width, background=background, allow_boxes=allow_boxes, output=output
    )


@reads
@isolated(reads=("{fonts}",))
def check(*, source: str) -> Check:
    """Check the source of a diagram, without returning a picture.

    Args:
        source: The diagram, in Mermaid or in Graphviz's DOT.

    Returns:
        `ok`, the `language`, and for a mistake its `line`, the `text` of that line and the `reason`.

    Example:
        diagram.check(source="flowchart LR\\n  A --> B[open")
    """
    language = language_of(source)
    try:
        draw_diagram(source, allow_boxes=True)
    except MistakeError as error:
        return {"ok": False, "language": language, "line": error.line, "text": error.text, "reason": error.reason}
    return {"ok": True, "language": language, "line": None, "text": "", "reason": ""}


@reads
async def kinds() -> dict[str, str]:
    """List the kinds of diagrams that Mermaid supports, each with a minimal example.

    Returns:
        A source that can be drawn for each kind, by the word it begins with.

    Example:
        print(diagram.kinds()["erDiagram"])
    """
    return EXAMPLES
