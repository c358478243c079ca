"""The pack brave: searches as Brave's API takes them, and answers that are short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.brave import PlayedBrave
from tests.services.played import Caller, open_caller_of, play


@pytest.fixture
async def brave() -> AsyncIterator[PlayedBrave]:
    async with play(PlayedBrave()) as service:
        yield service


@pytest.fixture
async def caller(tmp_path: Path, brave: PlayedBrave) -> AsyncIterator[Caller]:
    async with open_caller_of(tmp_path, brave, pack="brave", path="/res/v1") as opened:
        yield opened


async def test_pages_are_found(caller: Caller, brave: PlayedBrave) -> None:
    seen = await caller.run(
        'found = brave.search(query="two words", count=3)\n'
        '[found["more"], len(found["results"]), found["results"][2]["title"], found["results"][0]["url"]]'
    )

    assert seen == "[true, 3, two words & 2, 'https://pages.example/two-words/0']"
    assert brave.requests[0].query["count"] == "3"


async def test_web_search_says_what_it_wants(caller: Caller, brave: PlayedBrave) -> None:
    await caller.run(
        'brave.web_search(query="x", offset=2, country="DE", search_lang="de", freshness="pw", safesearch="off", '
        "extra_snippets=True)"
    )

    assert brave.requests[0].query == {
        "q": "x",
        "count": "10",
        "offset": "2",
        "country": "DE",
        "search_lang": "de",
        "freshness": "pw",
        "safesearch": "off",
        "extra_snippets": "true",
        "text_decorations": "false",
        "result_filter": "web",
    }


async def test_news_pictures_and_videos_have_what_is_worth_knowing(caller: Caller) -> None:
    seen = await caller.run(
        'print(brave.news(query="n", count=1)["results"][0]["source"])\n'
        'print(brave.images(query="i", count=1)["results"][0]["image"])\n'
        'print(brave.videos(query="v", count=1)["results"][0]["views"])'
    )

    assert seen.splitlines()[:3] == ["pages.example", "https://pages.example/i/0/whole.jpg", "6588953"]


async def test_a_batch_keeps_its_order_and_names_what_failed(caller: Caller) -> None:
    seen = await caller.run(
        'found = brave.batch(queries=["a", "", "c"], count=1)\n'
        'print([[item["query"], len(item["results"]), item["error"]] for item in found])'
    )

    assert seen.splitlines()[0] == str([["a", 1, None], ["", 0, "brave.batch: query is empty"], ["c", 1, None]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('query=" "', "query is empty"),
        ('query="x" * 401', "401 characters"),
        ('query="x " * 51', "51 words"),
        ('query="x", count=21', "count must be between 1 and 20, not 21"),
        ('query="x", count=0', "count must be between 1 and 20, not 0"),
        ('query="x", offset=10', "offset must be between 0 and 9"),
    ],
)
async def test_what_brave_would_refuse_is_not_sent(
    caller: Caller, brave: PlayedBrave, arguments: str, words: str
) -> None:
    assert words in await caller.mistake(f"brave.web_search({arguments})")
    assert brave.requests == []
