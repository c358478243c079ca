"""ot.tools, ot.packs, ot.aliases, ot.snippets and how their answers look, as specified: through the run tool."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.app import App
from tests.engine import answer_of, open_engine
from tests.spec.searching_packs import BRAVE

pytestmark = pytest.mark.anyio

CONFIG = """
aliases: {ws: brave.web_search, up: demo.upper, search_all: brave.search}
snippets:
  brv_research:
    description: Search web and extract structured findings
    params:
      topic: {description: "Topic to research"}
      count: {default: 5, description: "Number of sources"}
    body: |
      results = brave.search(query="{{ topic }}", count={{ count }})
      llm.transform(input=results, prompt="Extract key findings")
  pkg_check:
    description: Look at versions
    body: demo.echo(value=1)
prompts: {packs: {excel: "Open the workbook before reading ranges."}}
"""

EXCEL = '''
"""Workbooks."""

pack = "excel"


async def read_range(*, path: str) -> str:
    """Read cells: a {range}, [or] 'more' # of them."""
    return path
'''

EXTENSION = '''
"""An extension."""


def newest(*, versions: list[str]) -> str:
    """The newest of several version numbers."""
    return max(versions)
'''


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine")
    packs = {"brave": BRAVE, "excel": EXCEL}
    async with open_engine(folder, config=CONFIG, packs=packs, extensions={"versions": EXTENSION}) as app:
        yield app


async def value_of(app: App, command: str) -> Any:
    """The value that an answer shows, as a YAML parser reads it."""
    return yaml.safe_load(await answer_of(app, command))


# Tools


@pytest.mark.scenario("ot/list-tools/list-all-tools")
async def test_all_tools_are_listed_with_their_descriptions(app: App) -> None:
    listed = await value_of(app, "ot.tools()")

    assert [tool["name"] for tool in listed] == [tool.name for tool in app.registry.definitions()]
    assert listed == await value_of(app, 'ot.tools(info="min")')
    assert {"brave.search", "versions.newest", "ot.tools"} <= {tool["name"] for tool in listed}


@pytest.mark.scenario("ot/list-tools/filter-by-pattern")
@pytest.mark.parametrize("pattern", ["search", "SEARCH", "earc"])
async def test_a_pattern_keeps_the_tools_whose_names_contain_it(app: App, pattern: str) -> None:
    listed = await value_of(app, f'ot.tools(pattern="{pattern}", info="list")')

    assert {"brave.search", "brave.web_search"} < set(listed)
    assert listed == [tool.name for tool in app.registry.definitions() if pattern.lower() in tool.name]


@pytest.mark.scenario("ot/list-tools/info-level-list")
async def test_level_list_gives_names_alone(app: App) -> None:
    assert await answer_of(app, 'ot.tools(pattern="brave.", info="list")') == "[brave.search, brave.web_search]"


@pytest.mark.scenario("ot/list-tools/info-level-min")
async def test_level_min_gives_name_and_description(app: App) -> None:
    assert await value_of(app, 'ot.tools(pattern="brave.s")') == [
        {"name": "brave.search", "description": "Search with brave."}
    ]


@pytest.mark.scenario("ot/list-tools/info-level-full")
async def test_level_full_gives_all_that_is_known(app: App) -> None:
    assert await value_of(app, 'ot.tools(pattern="brave.", info="full")') == [
        {
            "name": "brave.search",
            "signature": "brave.search(*, query: str, count: int = 1) -> str",
            "description": "Search with brave.\n\nOnly public pages are known to it.",
            "source": "local",
            "effect": "unknown",
            "args": ["query: What to look for.", "count: How many results."],
            "returns": "Titles and addresses.",
            "example": 'brave.search(query="rust", count=3)',
        },
        {
            "name": "brave.web_search",
            "signature": "brave.web_search(*, query: str) -> str",
            "description": "Search the web for pages.",
            "source": "local",
            "effect": "unknown",
        },
    ]


async def test_a_level_that_does_not_exist_is_refused_with_those_that_do(app: App) -> None:
    answer = await app.runner.run('ot.tools(info="everything")')

    assert answer.is_error
    assert all(level in answer.text for level in ("list", "min", "full"))


# Packs


@pytest.mark.scenario("ot/pack-discovery/list-all-packs")
async def test_all_packs_are_listed(app: App) -> None:
    listed = await value_of(app, "ot.packs()")

    assert [pack["name"] for pack in listed] == sorted(pack.name for pack in app.registry.packs())
    assert listed == await value_of(app, 'ot.packs(info="min")')


@pytest.mark.scenario("ot/pack-discovery/filter-by-pattern")
@pytest.mark.parametrize("pattern", ["brav", "BRAV"])
async def test_a_pattern_keeps_the_packs_whose_names_contain_it(app: App, pattern: str) -> None:
    assert [pack["name"] for pack in await value_of(app, f'ot.packs(pattern="{pattern}")')] == ["brave"]


@pytest.mark.scenario("ot/pack-discovery/info-level-list")
async def test_level_list_gives_pack_names_alone(app: App) -> None:
    assert await value_of(app, 'ot.packs(info="list", pattern="r")') == sorted(
        pack.name for pack in app.registry.packs() if "r" in pack.name
    )


@pytest.mark.scenario("ot/pack-discovery/info-level-min")
async def test_level_min_gives_source_and_number_of_tools(app: App) -> None:
    [brave] = await value_of(app, 'ot.packs(pattern="brave")')
    [versions] = await value_of(app, 'ot.packs(pattern="versions")')

    assert brave == {"name": "brave", "source": "local", "tool_count": 2, "description": "A search engine."}
    assert (versions["source"], versions["tool_count"]) == ("local", 1)


@pytest.mark.scenario("ot/pack-discovery/info-level-full")
async def test_level_full_gives_the_tools_of_a_pack(app: App) -> None:
    [pack] = await value_of(app, 'ot.packs(pattern="brave", info="full")')

    assert pack["name"] == "brave"
    assert pack["tools"] == [
        {"name": "brave.search", "description": "Search with brave."},
        {"name": "brave.web_search", "description": "Search the web for pages."},
    ]
    assert "instructions" not in pack


@pytest.mark.scenario("ot/pack-discovery/pack-with-configured-instructions")
async def test_configured_instructions_are_shown_with_their_pack(app: App) -> None:
    [pack] = await value_of(app, 'ot.packs(pattern="excel", info="full")')

    assert pack["instructions"] == "Open the workbook before reading ranges."


# Aliases


@pytest.mark.scenario("ot/alias-introspection/list-all-aliases")
@pytest.mark.scenario("ot/alias-introspection/info-level-min")
async def test_all_aliases_are_listed_with_their_targets(app: App) -> None:
    listed = await value_of(app, "ot.aliases()")

    assert listed == ["search_all -> brave.search", "up -> demo.upper", "ws -> brave.web_search"]
    assert listed == await value_of(app, 'ot.aliases(info="min")')


@pytest.mark.scenario("ot/alias-introspection/filter-by-pattern")
async def test_a_pattern_looks_at_names_and_targets_of_aliases(app: App) -> None:
    assert await value_of(app, 'ot.aliases(pattern="WEB_search")') == ["ws -> brave.web_search"]
    assert await value_of(app, 'ot.aliases(pattern="All")') == ["search_all -> brave.search"]
    assert await value_of(app, 'ot.aliases(pattern="nothing")') == []


@pytest.mark.scenario("ot/alias-introspection/info-level-list")
async def test_level_list_gives_alias_names_alone(app: App) -> None:
    assert await value_of(app, 'ot.aliases(info="list")') == ["search_all", "up", "ws"]


@pytest.mark.scenario("ot/alias-introspection/info-level-full")
async def test_level_full_gives_aliases_as_objects(app: App) -> None:
    assert await value_of(app, 'ot.aliases(pattern="ws", info="full")') == [
        {"name": "ws", "target": "brave.web_search"}
    ]


# Snippets


@pytest.mark.scenario("ot/snippet-introspection/list-all-snippets")
@pytest.mark.scenario("ot/snippet-introspection/info-level-min")
async def test_all_snippets_are_listed_with_their_descriptions(app: App) -> None:
    listed = await value_of(app, "ot.snippets()")

    assert listed == ["brv_research: Search web and extract structured findings", "pkg_check: Look at versions"]
    assert listed == await value_of(app, 'ot.snippets(info="min")')


@pytest.mark.scenario("ot/snippet-introspection/filter-snippets-by-pattern")
@pytest.mark.parametrize("pattern", ["pkg", "PKG", "at vers"])
async def test_a_pattern_looks_at_names_and_descriptions_of_snippets(app: App, pattern: str) -> None:
    assert await value_of(app, f'ot.snippets(pattern="{pattern}")') == ["pkg_check: Look at versions"]


@pytest.mark.scenario("ot/snippet-introspection/info-level-list")
async def test_level_list_gives_snippet_names_alone(app: App) -> None:
    assert await value_of(app, 'ot.snippets(info="list")') == ["brv_research", "pkg_check"]


@pytest.mark.scenario("ot/snippet-introspection/info-level-full")
@pytest.mark.scenario("ot/snippet-introspection/snippet-output-format")
async def test_level_full_gives_a_snippet_as_it_was_written_and_what_it_expands_to(app: App) -> None:
    text = await answer_of(app, 'ot.snippets(pattern="brv_research", info="full")')

    assert text == (
        "name: brv_research\n"
        "description: Search web and extract structured findings\n"
        "params:\n"
        "  topic: {description: Topic to research}\n"
        "  count: {default: 5, description: Number of sources}\n"
        "body: |\n"
        '  results = brave.search(query="{{ topic }}", count={{ count }})\n'
        '  llm.transform(input=results, prompt="Extract key findings")\n'
        "\n"
        "# Example with defaults:\n"
        "# $brv_research topic=topic\n"
        "# Expands to:\n"
        'results = brave.search(query="topic", count=5)\n'
        'llm.transform(input=results, prompt="Extract key findings")'
    )


# How answers look


@pytest.mark.scenario("ot/yaml-flow-style-output/flow-style-formatting")
async def test_simple_objects_are_one_line_and_lists_of_objects_one_object_a_line(app: App) -> None:
    assert await answer_of(app, 'ot.packs(pattern="brave")[0]') == (
        "{name: brave, source: local, tool_count: 2, description: A search engine.}"
    )
    assert await answer_of(app, '[pack for pack in ot.packs() if pack["name"] in ("brave", "demo")]') == (
        "- {name: brave, source: local, tool_count: 2, description: A search engine.}\n"
        f"- {{name: demo, source: local, tool_count: {len(app.registry.pack('demo').tools)}, description: 'Harmless tools "
        "to try things out with: text, time, failure, a picture.'}"
    )


@pytest.mark.scenario("ot/yaml-flow-style-output/readability")
@pytest.mark.parametrize(
    "call",
    ['ot.packs(info="full")', 'ot.tools(info="full")', "ot.health()", 'ot.aliases(info="full")', "ot.snippets()"],
)
async def test_answers_parse_to_their_value_and_nest_flow_style_at_most_twice(app: App, call: str) -> None:
    part = "value[:4] if isinstance(value, list) else value"
    answer = await answer_of(app, f"import json\nvalue = {call}\nprint(json.dumps({part}))\n{part}")

    as_json, _, text = answer.partition("\n")
    assert yaml.safe_load(text) == json.loads(as_json)
    assert flow_levels(text) <= 2


def flow_levels(text: str) -> int:
    levels = deepest = 0
    for event in yaml.parse(text):
        if isinstance(event, yaml.CollectionStartEvent) and event.flow_style:
            levels += 1
            deepest = max(deepest, levels)
        elif isinstance(event, yaml.CollectionEndEvent) and levels:
            levels -= 1
    return deepest


@pytest.mark.scenario("ot/logging/span-naming")
@pytest.mark.parametrize("function", ["tools", "packs", "aliases", "snippets", "help", "health", "version"])
async def test_the_span_of_a_call_is_named_after_the_function(
    app: App, function: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="ot"):
        await answer_of(app, f"ot.{function}() is None")

    spans = [record.getMessage().split()[0] for record in caplog.records]
    assert spans.count(f"ot.{function}") == 1


# More than fits


async def test_the_value_is_whole_and_only_its_text_is_cut_with_how_to_narrow_it(tmp_path: Path) -> None:
    functions = "\n".join(
        f'async def tool_{number:03}(*, text: str) -> str:\n    """{"Describe something at length. " * 4}"""\n    return text\n'
        for number in range(400)
    )
    async with open_engine(tmp_path, packs={"many": f'"""Many."""\npack = "many"\n{functions}'}) as app:
        answer = await answer_of(app, "ot.tools()")
        count = await answer_of(app, "len(ot.tools())")

    assert count == str(len(app.registry.definitions()))
    assert len(answer) < 6000
    assert f"of {count}" in answer
    assert "pattern=" in answer
    assert 'info="list"' in answer
