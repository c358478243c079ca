"""ot.help as specified: an overview, all about one thing, or what fits a need; through the run tool."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.app import App
from ot.introspect.help import BUDGET
from tests.engine import answer_of, open_engine
from tests.spec.searching_packs import BRAVE
from tests.tokens import count_tokens

pytestmark = pytest.mark.anyio

CONFIG = """
aliases: {ws: brave.web_search, lost: nowhere.tool}
snippets:
  b_q:
    description: Ask the search engine one question
    params: {q: {description: The question}, count: {default: 3}}
    body: brave.search(query={{ q }}, count={{ count }})
prompts: {packs: {firecrawl: "Scrape one page before you crawl a site."}}
"""

FIRECRAWL = '''
"""Reads whole sites."""

pack = "firecrawl"


async def scrape(*, url: str) -> str:
    """Scrape the content of one page."""
    return url


async def crawl(*, url: str, depth: int = 2) -> str:
    """Follow the links of a site."""
    return url
'''

WEB = '''
"""Pages of the web."""

pack = "web"


async def fetch(*, url: str) -> str:
    """Fetch a page and give its text."""
    return url
'''


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine")
    packs = {"brave": BRAVE, "firecrawl": FIRECRAWL, "web": WEB}
    async with open_engine(folder, config=CONFIG, packs=packs) as app:
        yield app


async def help_of(app: App, arguments: str) -> str:
    return await answer_of(app, f"ot.help({arguments})")


@pytest.mark.scenario("ot/unified-help/general-help-no-query")
@pytest.mark.parametrize("arguments", ["", 'query=""', "query=[]", 'query="  "'])
async def test_without_a_query_there_is_an_overview(app: App, arguments: str) -> None:
    text = await help_of(app, arguments)

    assert all(f"ot.{function}(" in text for function in ("tools", "packs", "aliases", "snippets", "help"))
    assert all(f'info="{level}"' in text for level in ("list", "min", "full"))
    assert "## Examples" in text
    assert "## Tips" in text
    assert "brave" in text
    assert count_tokens(text) < 500


async def test_the_examples_of_the_overview_work(app: App) -> None:
    examples = (await help_of(app, "")).partition("## Examples\n")[2].partition("\n\n")[0].splitlines()

    assert len(examples) == 3
    for example in examples:
        assert not (await app.runner.run(example)).is_error


@pytest.mark.scenario("ot/unified-help/exact-tool-lookup")
async def test_a_tool_by_its_name_is_explained_whole(app: App) -> None:
    assert await help_of(app, 'query="brave.search"') == (
        "# brave.search\n\n"
        "Search with brave.\n\n"
        "Signature: brave.search(*, query: str, count: int = 1) -> str\n\n"
        "Args:\n- query (str): What to look for.\n- count (int = 1): How many results.\n\n"
        "Returns: str: Titles and addresses.\n\n"
        'Example:\nbrave.search(query="rust", count=3)\n\n'
        "Docs: https://onetool.beycom.online/reference/tools/brave-search/"
    )


@pytest.mark.scenario("ot/unified-help/exact-pack-lookup")
async def test_a_pack_by_its_name_is_explained_with_its_tools(app: App) -> None:
    assert await help_of(app, 'query="firecrawl"') == (
        "# firecrawl\n\n"
        "Reads whole sites.\n\n"
        "Scrape one page before you crawl a site.\n\n"
        "Tools (2):\n"
        "- firecrawl.crawl: Follow the links of a site.\n"
        "- firecrawl.scrape: Scrape the content of one page.\n\n"
        "Docs: https://onetool.beycom.online/reference/tools/firecrawl/"
    )


@pytest.mark.scenario("ot/unified-help/snippet-lookup")
async def test_a_snippet_by_its_name_is_explained(app: App) -> None:
    text = await help_of(app, 'query="$b_q"')

    assert text.startswith("# $b_q\n")
    assert "Ask the search engine one question" in text
    assert "count: {default: 3}" in text
    assert "body: |\n  brave.search(query={{ q }}, count={{ count }})" in text
    assert "# $b_q q=q" in text
    assert "brave.search(query='q', count=3)" in text


@pytest.mark.scenario("ot/unified-help/alias-lookup")
async def test_an_alias_by_its_name_is_explained(app: App) -> None:
    text = await help_of(app, 'query="ws"')

    assert text.startswith("# ws\n")
    assert "ws -> brave.web_search" in text
    assert "Usage: call ws(...)" in text
    assert "brave.web_search(*, query: str)" in text


async def test_an_alias_that_leads_nowhere_says_so(app: App) -> None:
    assert "There is no tool nowhere.tool here." in await help_of(app, 'query="lost"')


@pytest.mark.scenario("ot/unified-help/fuzzy-search")
async def test_a_need_finds_what_fits_grouped_by_kind(app: App) -> None:
    text = await help_of(app, 'query="web fetch"')

    assert text.index("Tools:\n- web.fetch") < text.index("Packs:\n- web")
    found = await help_of(app, 'query="ask a search engine"')
    assert [kind in found for kind in ("Tools:", "Packs:", "Snippets:", "Aliases:")] == [True] * 4
    assert "- $b_q: Ask the search engine one question" in found
    assert "- ws -> brave.web_search" in found


@pytest.mark.scenario("ot/unified-help/fuzzy-matching-with-typos")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("scaffoldl", "scaffold.extension"),
        ("frirecrawl", "firecrawl."),
        ("firecrwal scrap", "firecrawl.scrape"),
        ("brave.serach", "brave.search"),
        ("fech page", "web.fetch"),
    ],
)
async def test_a_misspelled_query_finds_what_was_meant(app: App, query: str, first: str) -> None:
    text = await help_of(app, f'query="{query}"')

    assert text.split("Tools:\n")[1].startswith(f"- {first}")


async def test_results_are_sorted_by_how_well_they_match(app: App) -> None:
    names = (await help_of(app, 'query="get a page", info="list"')).split("Tools:\n")[1].split("\n\n")[0]

    assert names.splitlines()[0] == "web.fetch"
    assert "firecrawl.scrape" in names


@pytest.mark.scenario("ot/unified-help/info-level-list")
async def test_level_list_gives_only_names(app: App) -> None:
    text = await help_of(app, 'query="web", info="list"')

    tools = text.partition("\n\nTools:\n")[2].partition("\n\n")[0].splitlines()
    assert tools[0] == "web.fetch"
    assert "brave.web_search" in tools
    assert "\n\nPacks:\nweb\n" in text
    assert "\n\nAliases:\nws" in text
    assert ": " not in text


@pytest.mark.scenario("ot/unified-help/info-level-min-default")
async def test_level_min_gives_names_with_short_descriptions(app: App) -> None:
    text = await help_of(app, 'query="brave"')

    assert text == await help_of(app, 'query="brave", info="min"')
    assert "- brave.search: Search with brave.\n- brave.web_search: Search the web for pages." in text


@pytest.mark.scenario("ot/unified-help/info-level-full")
async def test_level_full_gives_everything(app: App) -> None:
    text = await help_of(app, 'query="brave.search", info="full"')

    for part in (
        "Only public pages",
        "Signature:",
        "Args:",
        "Returns:",
        "Example:",
        "Source: local",
        "File: ",
        "Docs: ",
    ):
        assert part in text
    searched = await help_of(app, 'query="scrape a page", info="full"')
    assert "# firecrawl.scrape\n" in searched
    assert "- url (str)" in searched


SLUGS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
    "other": "other",
}


@pytest.fixture(scope="module")
async def documented(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[App]]:
    """An engine with a pack of each of these names, and another one whose documentation is elsewhere."""
    source = '"""A pack."""\npack = "{}"\n\n\nasync def tool() -> int:\n    """Do it."""\n    return 1\n'
    packs = {f"{pack}_pack": source.format(pack) for pack in SLUGS}
    folder = tmp_path_factory.mktemp("documented")
    async with (
        open_engine(folder / "usual", packs=packs) as usual,
        open_engine(folder / "own", config="docs_url: https://example.org/x", packs=packs) as own,
    ):
        yield [usual, own]


@pytest.mark.scenario("ot/unified-help/documentation-url-generation")
@pytest.mark.parametrize(("pack", "slug"), SLUGS.items())
async def test_the_documentation_of_a_pack_has_an_address(documented: list[App], pack: str, slug: str) -> None:
    usual, own = documented

    for query in (f"{pack}.tool", pack):
        assert f"https://onetool.beycom.online/reference/tools/{slug}/" in await help_of(usual, f'query="{query}"')
    assert f"https://example.org/x/{slug}/" in await help_of(own, f'query="{pack}"')


@pytest.mark.scenario("ot/unified-help/no-matches")
@pytest.mark.parametrize("query", ["xyznonexistent", "$unheard", "?!", "\x00", "日本語"])
async def test_where_nothing_matches_the_answer_says_how_to_look_around(app: App, query: str) -> None:
    text = await help_of(app, f"query={query!r}")

    assert "No matches found" in text
    assert "ot.tools()" in text
    assert "ot.packs()" in text


async def test_where_nothing_fits_well_the_nearest_are_shown_as_such(app: App) -> None:
    request = "depth of the sea near the harbour where grandmother moored her wooden rowing boat yesterday"
    text = await help_of(app, f"query={request!r}")
    names = await help_of(app, f'query={request!r}, info="list"')
    fitting = await help_of(app, 'query="follow the links of a site"')

    assert text.index("Nothing fits") < text.index("firecrawl.crawl")
    assert "ot.packs()" in text
    assert len(re.findall(r"^- ", text, re.MULTILINE)) <= 5
    assert "Tools:\nfirecrawl.crawl\n" in names
    assert "Nothing fits" not in fitting


async def test_several_queries_are_answered_in_their_order(app: App) -> None:
    text = await help_of(app, 'query=["fetch a page", "brave.search", "xyznonexistent"]')

    places = [text.index(part) for part in ("# fetch a page\n", "# brave.search\n", "# xyznonexistent\n")]
    assert places == sorted(places)


async def test_a_query_may_be_a_call_and_is_answered_once(app: App) -> None:
    assert await help_of(app, '["brave.search()", "brave.search", " brave.search "]') == await help_of(
        app, '"brave.search"'
    )


async def test_an_answer_stays_within_its_budget_whatever_matches(tmp_path: Path) -> None:
    functions = "\n".join(
        f'async def read_{number}(*, path: str) -> str:\n    """Read a scroll {"very carefully " * 60}."""\n    return path\n'
        for number in range(500)
    )
    source = f'"""Many."""\npack = "many"\n{functions}'
    async with open_engine(tmp_path, packs={"many": source}, config="results: {inline_limit: 1000000}") as app:
        answers = [
            await help_of(app, f"query={query!r}, info={info!r}")
            for query in (
                "read a scroll",
                "many",
                "many.read_7",
                [f"read scroll {n}" for n in range(12)],
                [f"many {n}" for n in range(500)],
            )
            for info in ("list", "min", "full")
        ]

    assert max(map(len, answers)) < 1.1 * BUDGET
    assert max(map(count_tokens, answers)) < 3000
    assert all(re.search(r" of 30\d or more shown", answer) for answer in answers[:3])
    assert all(" of 500 shown" in answer for answer in answers[4:6])
    assert all("[10 of 500 queries answered" in answer for answer in answers[-3:])


async def test_what_is_new_is_found_at_once(app: App, tmp_path: Path) -> None:
    async with open_engine(tmp_path) as other:
        assert "No matches" in await help_of(other, 'query="violins"')
        file = tmp_path / ".onetool" / "tools" / "music" / "music_tools.py"
        file.parent.mkdir(parents=True)
        file.write_text(
            '"""Music."""\n\n\ndef tune(*, count: int) -> int:\n    """Tune all violins."""\n    return count\n'
        )
        await other.runner.run("ot.reload()")  # looks at the folders at once

        assert "- music.tune: Tune all violins." in await help_of(other, 'query="violins"')
