"""Diagrams from text: Mermaid and Graphviz, as a picture or a file, with the line of a mistake."""

from __future__ import annotations

from typing import Literal, TypedDict

from ot.effects import idempotent, reads
from ot.isolate import isolated
from ot.values import Image
from ot_packs.diagram.drawing import draw_diagram, language_of
from ot_packs.diagram.kinds import EXAMPLES
from ot_packs.diagram.mistake import MistakeError
from ot_packs.pictures.written import Written

pack = "diagram"
needs = {"mmdr": "mmdr>=0.4", "mermaidx": "mermaidx>=0.10", "pygraphviz": "pygraphviz>=2.0.4"}


class Check(TypedDict):
    """Whether a source can be drawn, and where not."""

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
    """Draw a diagram that is written in Mermaid or in Graphviz's DOT.

    Args:
        source: The diagram; DOT begins with `graph {` or `digraph {`, everything else is Mermaid.
        engine: The way in which Graphviz arranges nodes; Mermaid has its own.
        width: Pixels from side to side; by default as many as the drawing asks for.
        background: A colour, or "transparent".
        allow_boxes: Draw boxes for letters that no installed font has; without it they are an error.
        output: A file that ends in .png or .svg; without one the picture is returned.

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
    """Find the mistake in a diagram without drawing it for anybody.

    Args:
        source: The diagram, in Mermaid or in Graphviz's DOT.

    Returns:
        `ok`, the `language`, and of a mistake its `line`, the `text` of that line and the `reason`.

    Example:
        diagram.check(source="flowchart LR\\n  A --> B[open")
    """
    language = language_of(source)
    try:
        draw_diagram(source, allow_boxes=True)
    except MistakeError as error:
        found = error.mistake
        return {"ok": False, "language": language, "line": found.line, "text": found.text, "reason": found.reason}
    return {"ok": True, "language": language, "line": None, "text": "", "reason": ""}


@reads
async def kinds() -> dict[str, str]:
    """List the kinds of diagrams that Mermaid has, each with its smallest example.

    Returns:
        The word that each kind begins with, and a source that can be drawn.

    Example:
        print(diagram.kinds()["erDiagram"])
    """
    return EXAMPLES
