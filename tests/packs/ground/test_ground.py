"""The pack ground: answers with their sources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_core.json_types import Json
from ot_packs.net.values import items_of
from tests.services.gemini import ANSWER, PlayedGemini, too_much
from tests.services.played import Caller, Reply, open_caller, open_caller_of, play


@pytest.fixture
async def gemini() -> AsyncIterator[PlayedGemini]:
    async with play(PlayedGemini()) as service:
        yield service


@pytest.fixture
async def caller(tmp_path: Path, gemini: PlayedGemini) -> AsyncIterator[Caller]:
    async with open_caller_of(tmp_path, gemini, pack="ground", path="/v1") as opened:
        yield opened


async def test_an_answer_comes_with_its_sources(caller: Caller, gemini: PlayedGemini) -> None:
    seen = await caller.app.executor.call("ground.search", {"query": "Which releases?", "context": "for Debian"})

    assert seen == {
        "answer": ANSWER,
        "grounded": True,
        "sources": [
            {"number": 1, "title": "pages.example", "url": "https://pages.example/versions"},
            {"number": 2, "title": "other.example", "url": "https://other.example/eol"},
        ],
        "passages": [
            {"text": "Größe: Python 3.14 gets fixes.", "sources": [1, 2]},
            {"text": "So does 3.13.", "sources": [2]},
        ],
        "queries": ["python releases security"],
        "complete": True,
        "model": "gemini-flash-latest-001",
        "tokens": {"input": 12, "output": 20, "total": 32},
    }
    assert gemini.requests[0].path == "/v1/models/gemini-flash-latest:generateContent"
    assert items_of(gemini.requests[0].body, "tools") == [{"googleSearch": {}}]


async def test_an_answer_from_memory_says_so(caller: Caller) -> None:
    assert await caller.run('ground.search(query="from memory")["grounded"]') == "False"


async def test_another_model_is_asked(tmp_path: Path, gemini: PlayedGemini) -> None:
    async with open_caller_of(tmp_path, gemini, pack="ground", path="/v1", model="gemini-pro") as caller:
        assert await caller.run('ground.search(query="x")["model"]') == "gemini-pro-001"
        assert await caller.run('ground.search(query="x", model="gemini-lite")["model"]') == "gemini-lite-001"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('query=" "', "query is empty"),
        ('query="x" * 100_001', "more than 100,000 characters"),
        ('query="blocked"', "Gemini gave no answer (SAFETY)"),
        ('query="x", model="../files"', "is not the name of a model"),
        ('query="x", model="palm"', "rejected the request with status 404: models/palm is not found"),
    ],
)
async def test_what_cannot_be_answered_is_told(caller: Caller, arguments: str, words: str) -> None:
    assert words in await caller.mistake(f"ground.search({arguments})")


async def test_a_wrong_key_is_named(tmp_path: Path, gemini: PlayedGemini) -> None:
    options = {"base_url": f"{gemini.address}/v1"}
    async with open_caller(tmp_path, packs={"ground": options}, secrets={"GEMINI_API_KEY": "AIza-wrong"}) as caller:
        message = await caller.mistake('ground.search(query="x")')

    assert "Gemini rejected the key in the secret GEMINI_API_KEY" in message
    assert "https://aistudio.google.com/apikey" in message


async def test_the_pause_that_the_body_of_a_refusal_asks_for_is_kept(caller: Caller, gemini: PlayedGemini) -> None:
    gemini.faults = [too_much("0.2s")]
    assert await caller.run('ground.search(query="x")["complete"]') == "True"
    assert len(gemini.requests) == 2

    gemini.faults = [too_much("3600s")]
    assert "is rate-limited for 3,600 s" in await caller.mistake('ground.search(query="x")')


@pytest.mark.parametrize(
    "value",
    [{}, [], 7, {"candidates": 7}, {"candidates": [{"content": {"parts": [{"text": 7}, "x"]}}]}],
    ids=["empty", "list", "number", "no candidates", "no text"],
)
async def test_an_answer_of_another_shape_is_no_crash(caller: Caller, gemini: PlayedGemini, value: Json) -> None:
    gemini.faults = [Reply(200, value)]
    answer = await caller.app.runner.run('ground.search(query="x")["answer"]')

    assert answer.text == "7" or "Gemini gave no answer" in answer.text
