"""ot.stats as specified, through the real run tool: a server, a client, and what is recorded of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client
from mcp_types import TextContent

from ot.stats.report import MARK
from tests.real_server import connect_server
from tests.tokens import count_tokens

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("ot-statistics")]

BRAVE = '''
"""A search engine that knows little."""

pack = "brave"


def search(*, query: str) -> str:
    """Search the web."""
    if not query:
        raise ValueError("nothing to search for")
    return f"about {query}. " * 100
'''
WORK = """
found = [brave.search(query=q) for q in ("one", "two", "three")]
try:
    brave.search(query="")
except ValueError:
    pass
demo.upper(text="done")
"""


class Tool:
    """The run tool, spoken to by a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def answer(self, command: str) -> tuple[str, bool]:
        result = await self._client.call_tool("run", {"command": command})
        assert isinstance(result.content[0], TextContent)
        return result.content[0].text, bool(result.is_error)

    async def definition(self) -> str:
        """What the client has in its context for this server."""
        listed = (await self._client.list_tools()).tools[0]
        described = {"name": listed.name, "description": listed.description, "inputSchema": listed.input_schema}
        return f"{self._client.instructions}\n{json.dumps(described)}"

    async def value(self, command: str) -> Any:
        text, failed = await self.answer(command)
        assert not failed, text
        return yaml.safe_load(text)


@asynccontextmanager
async def open_tool(folder: Path, *, config: str = "", mode: str = "auto") -> AsyncIterator[Tool]:
    file = folder / ".onetool" / "tools" / "brave" / "brave_tools.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(BRAVE)
    async with connect_server(folder, config=config, mode=mode) as client:
        yield Tool(client)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


FIRST_LOOK = """
import json
first = ot.stats()
{"first": first, "report": ot.stats(output='stats.html'), "used": json.dumps(ot.stats()['runs'])}
"""


@pytest.fixture(scope="module")
async def opened(project: Path) -> AsyncIterator[tuple[Tool, Any]]:
    """A server that has done its work, and its first look at that: looking at statistics is counted too."""
    async with open_tool(project) as tool:
        await tool.value(WORK)
        yield tool, await tool.value(FIRST_LOOK)


@pytest.fixture(scope="module")
def tool(opened: tuple[Tool, Any]) -> Tool:
    return opened[0]


@pytest.fixture
def looks(opened: tuple[Tool, Any]) -> Any:
    return deepcopy(opened[1])


@pytest.mark.scenario("ot/runtime-statistics/get-all-time-stats")
async def test_all_that_was_ever_called_is_summed_up(looks: Any) -> None:
    stats = looks["first"]

    assert stats["total_calls"] == 5
    assert stats["success_rate"] == 80.0
    assert isinstance(stats["context_saved"], int)
    assert isinstance(stats["time_saved_ms"], int)
    figures = {figures.pop("tool"): figures for figures in stats["tools"]}
    assert (figures["brave.search"]["calls"], figures["brave.search"]["errors"]) == (4, 1)
    assert (figures["demo.upper"]["calls"], figures["demo.upper"]["errors"]) == (1, 0)
    assert figures["brave.search"]["slowest_ms"] >= figures["brave.search"]["mean_ms"] > 0
    assert figures["brave.search"]["received_bytes"] > 3 * 1000


@pytest.mark.scenario("ot/runtime-statistics/filter-by-period")
@pytest.mark.parametrize("period", ["day", "week", "month", "all"])
async def test_a_period_is_looked_back_at(tool: Tool, period: str) -> None:
    stats = await tool.value(f"ot.stats(period='{period}')")

    assert stats["period"] == period
    assert sum(figures["calls"] for figures in stats["tools"] if not figures["tool"].startswith("ot.")) == 5


@pytest.mark.scenario("ot/runtime-statistics/filter-by-tool")
async def test_one_tool_is_looked_at(tool: Tool) -> None:
    one = await tool.value("ot.stats(tool='brave.search')")
    pack = await tool.value("ot.stats(tool='brave')")
    nothing = await tool.value("ot.stats(tool='brave.serch')")

    assert (one["total_calls"], one["success_rate"]) == (4, 75.0)
    assert [figures["tool"] for figures in one["tools"]] == ["brave.search"]
    assert pack["tools"] == one["tools"]
    assert (nothing["total_calls"], nothing["success_rate"], nothing["tools"]) == (0, None, [])
    assert "brave.search" in nothing["note"]


@pytest.mark.scenario("ot/runtime-statistics/generate-html-report")
async def test_a_report_is_written_and_its_path_told(looks: Any, project: Path) -> None:
    stats = looks["report"]

    assert stats["html_report"] == str(project / "stats.html")
    page = (project / "stats.html").read_text()
    assert page.startswith(MARK)
    assert "brave.search" in page
    assert stats["total_calls"] == 5 + 1  # with the first look


@pytest.mark.scenario("ot/runtime-statistics/stats-disabled")
async def test_where_nothing_is_counted_one_is_told_so(tmp_path: Path) -> None:
    async with open_tool(tmp_path, config="stats: {enabled: false}") as tool:
        await tool.value(WORK)
        text, failed = await tool.answer("ot.stats()")

    assert failed
    assert "Statistics are disabled" in text
    assert "stats.enabled" in text
    assert not list(tmp_path.rglob("stats.db*"))


OUTSIDE = (
    "it is outside the folders that tools may use: {project}. A person can add one to `roots` in their onetool.yaml"
)


@pytest.mark.scenario("ot/runtime-statistics/html-write-error")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/report.html", "No such file or directory"),
        ("/usr/report.html", OUTSIDE),
        ("../report.html", OUTSIDE),
        ("report.txt", "the name of a report must end in .html"),
        ("taken.html", "another file has this name, and it is not a report of OneTool"),
    ],
)
async def test_what_cannot_be_written_is_told_with_its_reason(
    tool: Tool, project: Path, path: str, reason: str
) -> None:
    (project / "taken.html").write_text("<h1>mine</h1>")

    text, failed = await tool.answer(f"ot.stats(output={path!r})")

    assert failed
    assert f"Error: Cannot write to '{path}': {reason.format(project=project)}\n" in text
    assert (project / "taken.html").read_text() == "<h1>mine</h1>"
    assert not (project.parent / "report.html").exists()


@pytest.mark.scenario("ot/runtime-statistics/invalid-period")
async def test_a_period_that_there_is_not_is_refused_with_an_example(tool: Tool) -> None:
    text, failed = await tool.answer("ot.stats(period='invalid')")
    caught, _ = await tool.answer("try:\n    ot.stats(period='invalid')\nexcept ValueError as error:\n    print(error)")

    sentence = "Error: Invalid period 'invalid'. Valid: day, week, month, all. Example: ot.stats(period='day')"
    assert failed
    assert sentence in text
    assert caught.startswith(f"{sentence}\n")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_run_is_recorded_under_the_name_of_its_client(tmp_path: Path, mode: str) -> None:
    async with open_tool(tmp_path, mode=mode) as tool:
        await tool.value("demo.upper(text='a')")
        stats = await tool.value("ot.stats()")

    assert stats["clients"] == [{"client": "mcp", "runs": 1, "failed": 0, "calls": 1}]


async def test_intermediate_results_that_stay_out_of_the_context_are_saved(tool: Tool, looks: Any) -> None:
    stats = looks["first"]

    tokens = stats["estimated_tokens"]
    results = [f"about {word}. " * 100 for word in ("one", "two", "three")]
    assert tokens["direct_results"] == pytest.approx(sum(map(count_tokens, results)), rel=0.3)
    assert tokens["direct_definitions"] > 0
    assert tokens["sent_definition"] == pytest.approx(count_tokens(await tool.definition()), rel=0.3)
    assert tokens["sent_commands"] == pytest.approx(count_tokens(WORK), rel=0.5)
    assert stats["context_saved"] == tokens["direct"] - tokens["sent"] > 0
    assert stats["runs"] == {"total": 1, "failed": 0, "cost_more": 0}


async def test_looking_for_tools_costs_more_than_it_saves_and_says_so(tmp_path: Path) -> None:
    async with open_tool(tmp_path) as tool:
        await tool.value("ot.tools(pattern='ot.', info='full')")
        stats = await tool.value("ot.stats()")

    assert stats["context_saved"] < 0
    assert stats["runs"]["cost_more"] == 1
    assert stats["estimated_tokens"]["direct"] == 0


async def test_what_other_servers_of_this_person_did_is_counted_too(tmp_path: Path) -> None:
    async with open_tool(tmp_path) as first, open_tool(tmp_path) as second:
        await first.value("demo.upper(text='a')")
        await second.value("demo.upper(text='b')")
        await first.value("ot.stats()")  # writes what the first one did, at once
        stats = await second.value("ot.stats()")

    assert {figures["tool"]: figures["calls"] for figures in stats["tools"]}["demo.upper"] == 2


async def test_the_figures_are_values_that_code_can_use(looks: Any) -> None:
    assert json.loads(looks["used"])["total"] == 1
