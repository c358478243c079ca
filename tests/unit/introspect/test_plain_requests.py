"""ot.help for what people type: the obvious tool is among the first three, also where its pack is switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.plain_requests import find_first, known_tools, missed, read_requests
from ot.parts.known_tools import find_built_in_packs
from ot.registry.ranking.words import read_keywords
from ot.registry.registry import ToolRegistry
from tests.engine import answer_of, open_engine


@pytest.fixture(scope="module")
def registry() -> ToolRegistry:
    return known_tools()


@pytest.mark.parametrize(("name", "share"), [("requests", 0.95), ("later", 0.93), ("held_out", 0.92)])
async def test_a_right_tool_is_among_the_first_three(registry: ToolRegistry, name: str, share: float) -> None:
    requests = read_requests(name)

    wrong = missed(requests, await find_first(requests, registry))

    assert len(wrong) <= (1 - share) * len(requests), wrong


@pytest.mark.parametrize(
    ("request_", "first"),
    [
        ("read a pdf", ["convert.auto"]),
        ("open a csv", ["convert.auto", "convert.tables", "db.query"]),
        ("rename a function", ["code.rewrite"]),
        ("make a spreadsheet", ["excel.create"]),
        ("plot a graph", ["chart.line", "chart.draw", "chart.bar", "chart.scatter"]),
        ("run a shell command", ["shell.run"]),
        ("ls", ["file.list"]),
    ],
)
async def test_the_obvious_tool_comes_first(registry: ToolRegistry, request_: str, first: list[str]) -> None:
    found = await find_first({request_: first}, registry)

    assert found[request_][0] in first


async def test_a_pack_that_is_off_is_named_where_it_is_the_answer(tmp_path: Path) -> None:
    question = "ot.help(query='run a shell command')"
    async with open_engine(tmp_path / "off", demo=False) as app:
        answer = await answer_of(app, question)
        unrelated = await answer_of(app, "ot.help(query='read a pdf')")
    async with open_engine(tmp_path / "on", config="packs: {shell: {enabled: true}}") as app:
        answer_if_on = await answer_of(app, question)

    line = next(line for line in answer.splitlines() if line.startswith("- "))
    assert line.startswith("- shell.run: (Switched off here; a person can switch it on: packs.shell.enabled: true.) ")
    assert "shell" not in unrelated
    assert "- shell.run: " in answer_if_on
    assert "witched off" not in answer_if_on


async def test_a_pack_to_try_things_with_is_not_named_while_it_is_off(registry: ToolRegistry) -> None:
    found = await find_first({"write a text in capital letters": []}, registry)

    assert not [name for name in found["write a text in capital letters"] if name.startswith("demo.")]


def test_keywords_are_of_tools_that_exist(registry: ToolRegistry) -> None:
    [folder] = find_built_in_packs()
    off = {tool.name for pack in registry.switched_off_packs() for tool in pack.tools.values()}

    named = read_keywords(folder).keys()

    assert named
    assert [name for name in named if name not in off and not registry.has(name)] == []
