"""The page about mcp-guide is true: its guide can be read, and its template gives what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_guide.guide import open_guide
from mcp_guide.places import Places
from mcp_guide.server import GuideServer
from tests.tool_answers import read_answer

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()
FILES: dict[str, str] = {
    name: text
    for language, opening, closing in (("markdown", "<!-- ", " -->"), ("yaml", "# ", ""))
    for name, text in re.findall(
        rf"^```{language}\n{re.escape(opening)}(\S+){re.escape(closing)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuideServer:
    """The guide of the page, in a project named shop."""
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)
    project = tmp_path / "shop"
    for name, text in FILES.items():
        file = project / ".guide" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (project / "pyproject.toml").touch()
    return GuideServer(open_guide(Places(project, project / ".guide", named=False)))


async def call(server: GuideServer, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments or {})
    return read_answer(result)["value"]


async def test_the_files_of_the_page_are_the_folder_that_it_shows() -> None:
    [tree] = re.findall(r"^```\n\.guide/\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert {name.rpartition("/")[2] for name in FILES} | {"rules/"} == set(tree.split())


async def test_the_guide_of_the_page_is_whole(server: GuideServer) -> None:
    assert await call(server, "list_categories") == [
        {"category": "rules", "description": "What holds for every change", "documents": 2}
    ]
    [collection] = await call(server, "list_collections")
    assert (collection["collection"], collection["categories"]) == ("onboarding", ["rules"])
    listed = await call(server, "list_documents", {"search": "naming of tests"})
    assert listed["documents"][0]["title"] == "Naming"
    assert not [line for line in listed["documents"] if "problem" in line]


async def test_the_template_gives_what_the_page_says(server: GuideServer) -> None:
    [arguments] = re.findall(r"^`render_template` with `(.*)` returns$", PAGE, re.MULTILINE)
    [expected] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert (await call(server, "render_template", json.loads(arguments)))["text"] == expected


async def test_the_table_has_every_tool_and_no_other(server: GuideServer) -> None:
    rows = re.findall(r"^\| (`\w+`.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}

    assert named == {tool.name for tool in await server.list_tools()}
