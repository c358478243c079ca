"""Templates are rendered with the facts of the project, within limits."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mcp_guide.errors import TemplateFailedError
from mcp_guide.names import parse_document_name
from mcp_guide.tools.tool_template import collect_facts, render_document
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.unit.mcp_guide.guides import make_guide

pytestmark = pytest.mark.anyio

HEAD = "---\ntemplate: true\n---\n"


async def render(
    project: Path,
    text: str,
    variables: dict[str, Any] | None = None,
    *,
    limit: float = 30,
    cpu_limit: int = 5,
    **others: str,
) -> str:
    guide = make_guide(project, {"t/main": text, **{f"t/{name}": body for name, body in others.items()}})
    facts = collect_facts(project, today=date(2026, 2, 3))
    return await render_document(
        guide, parse_document_name("t/main"), variables or {}, facts, limit=limit, cpu_limit=cpu_limit
    )


async def test_a_template_knows_the_project_and_the_variables(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\n')

    text = await render(
        tmp_path,
        HEAD + "# {{ project.name }}\n{% for language in project.languages %}\n- {{ language }}\n{% endfor %}\n"
        "{% if project.branch %}on {{ project.branch }}{% endif %}{{ who | upper }} <{{ project.today }}>\n",
        {"who": "me"},
    )

    assert text == "# shop\n- Python\nME <2026-02-03>\n"


async def test_a_template_includes_documents_of_the_guide_without_their_front_matter(tmp_path: Path) -> None:
    text = await render(tmp_path, 'A {% include "t/part" %} B', part=f"{HEAD}{{{{ project.today }}}}")

    assert text == "A 2026-02-03 B"


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "t/../../secret", "t/link", "t/none", "secret"])
async def test_nothing_outside_the_guide_can_be_included(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.md").write_text("secret")
    make_guide(tmp_path, {"t/x": ""})
    (tmp_path / ".guide/t/link.md").symlink_to("../../secret.md")

    with pytest.raises(TemplateFailedError, match="there is no document"):
        await render(tmp_path, f'{{% include "{name}" %}}')


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (HEAD + "\n{{ nothing }}", "'nothing' is undefined", 5),
        (HEAD + "\n{{ project.nothing }}", "has no attribute 'nothing'", 5),
        ("\n\n{% if %}", "Expected an expression", 3),
        ("{{ 1 / 0 }}", "ZeroDivisionError", 1),
        ("{{ 'x' + 1 }}", "TypeError", 1),
        ("\n{{ ''.__class__.__mro__ }}", "unsafe", 2),
        ("{{ project.update({}) }}", "unsafe", 1),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError", 1),
        ("{{ range(10000000) }}", "OverflowError", 1),
        ("{{ 'x' * 10**10 }}", "MemoryError", 1),
        ("{% for i in range(99999) %}xxxxx{% endfor %}", "longer than", None),
        ("{% include 't/main' %}", "RecursionError", 1),
    ],
    ids=[
        "unknown", "unknown-fact", "syntax", "arithmetic", "types", "class", "change", "recursion", "range", "memory",
        "length", "itself",
    ],
)  # fmt: skip
async def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, reason: str, line: int | None) -> None:
    with pytest.raises(TemplateFailedError) as caught:
        await render(tmp_path, text)

    assert reason in caught.value.reason
    assert caught.value.document == "t/main"
    assert caught.value.line == line


async def test_a_mistake_in_an_included_document_is_told_there(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailedError) as caught:
        await render(tmp_path, '{% include "t/part" %}', part=f"{HEAD}\n\n{{{{ nothing }}}}")

    assert (caught.value.document, caught.value.line) == ("t/part", 6)


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


async def test_an_endless_template_ends_at_its_limit(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailedError, match=r"longer than 0\.5 s"):
        await render(tmp_path, ENDLESS, limit=0.5)


async def test_an_endless_template_is_ended_by_the_operating_system(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailedError, match="time or memory limit"):
        await render(tmp_path, ENDLESS, cpu_limit=1)


SERVER = """
import sys
from datetime import date
from pathlib import Path

import anyio

from mcp_guide import find_places, open_guide
from mcp_guide.names import parse_document_name
from mcp_guide.tools.tool_template import collect_facts
from mcp_guide.tools.tool_template import render_document


async def render(project):
    guide = open_guide(find_places(None, environ={}, cwd=project, home=project))
    facts = collect_facts(project, today=date(2026, 2, 3))
    await render_document(guide, parse_document_name("t/main"), {}, facts, limit=3600, cpu_limit=3599)


anyio.run(render, Path(sys.argv[1]))
"""


def test_a_template_that_is_being_rendered_ends_with_its_server(tmp_path: Path) -> None:
    make_guide(tmp_path, {"t/main": ENDLESS})
    with subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path)]) as server:
        try:
            renderers = wait_for_renderers(server.pid)
        finally:
            server.kill()

    wait_until_gone(renderers, seconds=60)


def wait_for_renderers(server: int) -> set[int]:
    """The processes below a server, when they have come so far that they limit themselves."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = find_descendants(server)
        if found and all("3599" in Path(f"/proc/{pid}/limits").read_text() for pid in found):
            return found
        time.sleep(0.01)
    pytest.fail("nothing is being rendered")


async def test_the_facts_cannot_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailedError, match="facts"):
        await render(tmp_path, "x", {"project": {}})


async def test_a_file_in_the_working_directory_is_not_taken_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jinja2.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)

    assert await render(tmp_path, "{{ project.today }}") == "2026-02-03"


@pytest.mark.parametrize("value", ["\ud800", "é☃", {"a": [1, None, 2.5]}, "{{ 7 * 7 }}"])
async def test_a_value_is_data(tmp_path: Path, value: Any) -> None:
    assert await render(tmp_path, "{{ value }}", {"value": value}) == str(value)
