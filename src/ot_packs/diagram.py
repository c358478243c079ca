"""Draws a source in Mermaid or Graphviz; runs in a helper process, where the libraries are at home.

Mermaid is drawn without a browser. `mmdr`, in Rust, takes milliseconds. What it refuses goes to `mermaidx`, which takes
a second to start the original Mermaid: it draws what the first cannot, and otherwise says in which line the mistake is.
"""

from __future__ import annotations

import html
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ot.errors import ToolError
from ot.values import Image
from ot_packs.pictures import Written, format_of, require_fonts, require_self_contained, write_picture

_MERMAID_LINE = re.compile(r"(?:Parse|Lexical) error on line (\d+)")
_GRAPHVIZ = re.compile(
    r"^(?:\s|//[^\n]*\n|/\*.*?\*/|#[^\n]*\n)*(?:strict\s+)?(?:di)?graph\b[^{\n]*\{", re.DOTALL | re.I
)
_GRAPHVIZ_FAULT = re.compile(r"Error: |improper (?:image|shapefile)=")
_LINK = re.compile(r'href="([^"]*)"')


class MistakeError(ToolError):
    """A source that cannot be drawn; lines count from 1, and None is one that the library does not name."""

    def __init__(self, reason: str, line: int | None = None, text: str = "") -> None:
        place = f"line {line} ({text.strip()!r}): " if line else ""
        super().__init__(f"the diagram has a mistake: {place}{reason}")
        self.line, self.text, self.reason = line, text, reason


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
    form = format_of(output, ("png", "svg"))
    if not allow_boxes:
        require_fonts([source])
    svg = _draw_mermaid(source) if language_of(source) == "mermaid" else _draw_graphviz(source, engine)
    try:
        require_self_contained(svg)
    except ToolError as error:
        raise MistakeError(str(error)) from error
    picture = svg.encode() if form == "svg" else _rasterise(svg, width, background)
    return write_picture(picture, output, form) if output else Image(picture, "image/png")


def language_of(source: str) -> Literal["graphviz", "mermaid"]:
    """Return the language of a source: what does not begin as DOT is taken for Mermaid, which has many beginnings."""
    return "graphviz" if _GRAPHVIZ.match(source) else "mermaid"


def _draw_mermaid(source: str) -> str:
    import mmdr

    try:
        return str(mmdr.render(source).svg())
    except ValueError as error:
        first_reason = str(error)
    import mermaidx

    try:
        return str(mermaidx.render(source).svg())
    except RuntimeError as error:
        # The line is the one that the original Mermaid gives; the reason of the other one is shorter.
        short = first_reason.partition("): ")[2] or first_reason
        raise _mistake_at(_MERMAID_LINE.search(str(error)), source, short[:300]) from error


def _draw_graphviz(source: str, engine: str) -> str:
    import pygraphviz

    with tempfile.TemporaryFile() as heard:
        drawn, reason = b"", ""
        try:
            with _written_to(heard.fileno()), pygraphviz.AGraph(string=source) as graph:
                drawn = graph.draw(format="svg", prog=engine)
        except (ValueError, OSError, LookupError, pygraphviz.DotError) as error:
            reason = str(error)
        heard.seek(0)
        words = heard.read(10_000).decode(errors="replace")
    if reason or _GRAPHVIZ_FAULT.search(words):  # it also draws what it could not understand, without that part
        said = words or reason
        found = re.search(r"syntax error in line (\d+)(.*)", said)
        if found is None or "in label of" in said:  # whose lines are counted from its own beginning
            raise MistakeError(" ".join(said.split())[:300])
        raise _mistake_at(found, source, f"syntax error{found[2].rstrip()}")
    svg = drawn.decode()
    for link in _LINK.findall(svg):  # a browser would take some for a program, in whatever way they are spelt
        address = "".join(html.unescape(link).split()).lower()
        if ":" in address.split("/")[0] and not address.startswith(("http:", "https:", "mailto:")):
            raise MistakeError(f"the link {address[:100]!r} does not lead to http, https or mailto")
    return svg


def _mistake_at(found: re.Match[str] | None, source: str, reason: str) -> MistakeError:
    """Return a mistake in the line whose number was found, or in the last one."""
    lines = source.splitlines()
    line = min(int(found[1]), len(lines)) if found and lines else None
    return MistakeError(reason, line, lines[line - 1] if line else "")


@contextmanager
def _written_to(descriptor: int) -> Iterator[None]:
    """Lead stderr elsewhere: only there does the library name the line of a mistake."""
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _rasterise(svg: str, width: int | None, background: str) -> bytes:
    import novasvg

    document = novasvg.Document.load_from_data(svg)
    if document is None:
        raise ToolError("the drawing cannot be rendered as pixels; use an .svg output")
    if view := re.search(r'viewBox="[-\d.e]+ [-\d.e]+ ([\d.e]+) ([\d.e]+)"', svg[:5000]):
        wide, high = float(view[1]), float(view[2])
        factor = width / wide if width and wide else 1.0
        if wide * high * factor * factor > 40_000_000:
            raise ToolError(
                f"{wide * factor:.0f} by {high * factor:.0f} pixels are too many; pass a smaller width, "
                "or an output that ends in .svg"
            )
    return bytes(document.render_to_bitmap(width or -1, -1, novasvg.Color(background)).to_png())


# The kinds of Mermaid diagrams, each with its smallest useful example.
_EXAMPLES = """
flowchart LR
  A[Start] --> B{Choice}
  B -->|yes| C[Done]
---
sequenceDiagram
  Ann->>Bob: Hello
  Bob-->>Ann: Hi
---
classDiagram
  Animal <|-- Dog
  Animal : +int age
  Dog : +bark()
---
stateDiagram-v2
  [*] --> Idle
  Idle --> Busy: work
  Busy --> [*]
---
erDiagram
  CUSTOMER ||--o{ ORDER : places
  ORDER {
    int id PK
    string note
  }
---
gantt
  dateFormat YYYY-MM-DD
  section Build
  Design :a, 2026-01-01, 5d
  Code :after a, 10d
---
pie title Pets
  "Dogs" : 40
  "Cats" : 60
---
journey
  title A day
  section Morning
    Coffee: 5: Ann
    Mail: 2: Ann, Bob
---
gitGraph
  commit
  branch work
  commit
  checkout main
  merge work
---
mindmap
  root((Ideas))
    First
    Second
---
timeline
  title History
  2024 : First
  2025 : Second
---
quadrantChart
  x-axis Low --> High
  y-axis Slow --> Fast
  A: [0.3, 0.6]
---
requirementDiagram
  requirement speed {
    id: 1
    text: fast
    risk: low
    verifymethod: test
  }
---
C4Context
  Person(a, "Person")
  System(b, "System")
  Rel(a, b, "uses")
---
xychart-beta
  x-axis [jan, feb, mar]
  y-axis "Sales" 0 --> 10
  bar [3, 7, 5]
---
sankey-beta

Wind,Power,10
Sun,Power,20
---
block-beta
  columns 2
  a b
  c:2
---
packet-beta
  0-15: "Source"
  16-31: "Target"
---
architecture-beta
  group api(cloud)[API]
  service db(database)[Data] in api
  service app(server)[App] in api
  db:L -- R:app
---
kanban
  todo[To do]
    a[First]
  done[Done]
    b[Second]
---
radar-beta
  axis a["A"], b["B"], c["C"]
  curve x["X"]{3, 4, 5}
---
treemap-beta
  "All"
    "One": 10
    "Two": 20
"""
EXAMPLES = {example.split(maxsplit=1)[0]: example for example in _EXAMPLES.strip().split("\n---\n")}
