"""The diagram pack: Mermaid and Graphviz as pictures, and the lines of mistakes."""

from __future__ import annotations

import pytest

from ot_packs.diagram import EXAMPLES
from tests.packs.drawing import Studio, size_of, studio

__all__ = ["studio"]


async def test_every_kind_that_is_listed_can_be_drawn(studio: Studio) -> None:
    command = "{kind: diagram.check(source=source) for kind, source in diagram.kinds().items()}"
    outcome = await studio.app.runner.run(f"[kind for kind, seen in {command}.items() if not seen['ok']]")

    assert (outcome.text, len(EXAMPLES)) == ("[]", 22)


async def test_a_diagram_is_a_picture_of_the_width_that_is_wanted(studio: Studio) -> None:
    picture = await studio.draw('diagram.render(source="flowchart LR\\n A --> B", width=640)')

    assert size_of(picture)[0] == 640


async def test_graphviz_is_told_from_mermaid(studio: Studio) -> None:
    command = """
        sources = ["graph { a -- b }", "// a comment\\nstrict digraph G {\\n a -> b }", "graph TD\\n A --> B", "graph LR; A-->B"]
        [(seen["ok"], seen["language"]) for seen in [diagram.check(source=source) for source in sources]]
        """
    answer = await studio.app.runner.run(command)

    assert answer.text == "[[true, graphviz], [true, graphviz], [true, mermaid], [true, mermaid]]"


@pytest.mark.parametrize("engine", ["dot", "neato", "fdp", "twopi", "circo", "osage", "patchwork"])
async def test_graphviz_arranges_in_every_way(studio: Studio, engine: str) -> None:
    await studio.draw(f'diagram.render(source="digraph {{ a -> b -> c }}", engine="{engine}")')


@pytest.mark.parametrize("source", ["digraph { a -> b }", "flowchart LR\\n a --> b"])
async def test_a_drawing_is_written_to_a_file(studio: Studio, source: str) -> None:
    answer = await studio.app.runner.run(f'diagram.render(source="{source}", output="drawn.svg")["format"]')

    assert (answer.text, "<svg" in (studio.folder / "drawn.svg").read_text()) == ("svg", True)


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("flowchart LR\\n A --> B\\n B --> C[open", 3, "missing `]`"),
        ("erDiagram\\n A ||--o{ B\\n", 2, "expected style separator, colon"),
        ("digraph {\\n a -> b\\n b -> -> c\\n}", 3, "syntax error near '->'"),
        ("nothing of the kind", "null", "No Mermaid diagram type"),
        ('digraph {\\n a [image=\\"/etc/hostname\\"]\\n}', "null", "improper image"),
        ("digraph {\\n a [label=<<b>open>]\\n}", "null", "in label of node a"),
    ],
)
async def test_a_mistake_has_its_line(studio: Studio, source: str, line: object, reason: str) -> None:
    found = await studio.app.runner.run(f'diagram.check(source="{source}")')
    raised = await studio.mistake(f'diagram.render(source="{source}")')

    assert f"line: {line}" in found.text
    assert reason in found.text
    assert reason in raised


async def test_a_drawing_of_too_many_pixels_is_refused_with_a_way_out(studio: Studio) -> None:
    message = await studio.mistake('diagram.render(source="flowchart LR\\n A --> B", width=100000)')

    assert "pass a smaller width, or an output that ends in .svg" in message


@pytest.mark.parametrize(
    "source",
    [
        'flowchart LR\\n A --> B\\n click A \\"javascript:alert(1)\\"',
        '%%{init: {\\"securityLevel\\": \\"loose\\"}}%%\\nflowchart LR\\n A[\\"<script>alert(1)</script>\\"] --> B',
        '%%{init: {\\"themeCSS\\": \\"@import url(http://127.0.0.1:9/x.css);\\"}}%%\\nflowchart LR\\n A --> B',
        'digraph { a [URL=\\"https://example.com\\", label=\\"<script>alert(1)</script>\\"] }',
    ],
)
async def test_a_drawing_holds_no_script(studio: Studio, source: str) -> None:
    answer = await studio.app.runner.run(f'diagram.render(source="{source}", output="script.svg")')

    svg = (studio.folder / "script.svg").read_text().lower()
    assert not answer.is_error, answer.text
    assert not [word for word in ("<script", "javascript:", "@import", "127.0.0.1") if word in svg]


async def test_a_drawing_loads_nothing(studio: Studio) -> None:
    attribute = 'stylesheet=\\"http://127.0.0.1:9/a.css\\"'
    message = await studio.mistake(f'diagram.render(source="digraph {{ {attribute}; a }}", output="loads.svg")')
    checked = await studio.app.runner.run(f'diagram.check(source="digraph {{ {attribute}; a }}")["ok"]')

    assert "the diagram has a mistake" in message
    assert checked.text == "False"
    assert not (studio.folder / "loads.svg").exists()


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "java&#115;cript:alert(1)", " JAVA\\tSCRIPT:alert(1)", "data:text/html,x"]
)
async def test_a_link_leads_to_a_page_or_nowhere(studio: Studio, link: str) -> None:
    message = await studio.mistake(f'diagram.render(source="digraph {{ a [URL=\\"{link}\\"] }}", output="link.svg")')

    assert "does not lead to http" in message
    assert not (studio.folder / "link.svg").exists()
