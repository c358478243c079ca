"""A real model that is far too small for tools: odd names, wrong arguments, broken JSON, and a loop that stays sane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mcp_core.json_types import Json
from ot.ai.messages import (
    Finished,
    Request,
    Spent,
    Stopped,
    Text,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UserMessage,
)
from tests.models.clients import assert_sound, collect, model_at, only, open_client
from tests.models.servers import small_model_server
from tests.opened_executor import open_executor
from tests.services.played import open_caller

pytestmark = [
    pytest.mark.xdist_group("small model"),
    pytest.mark.long,
]  # one server for all providers; it thinks for long

QUESTIONS = ["Say hello in capital letters.", "What is the weather in Paris?"]


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    with small_model_server() as url:
        yield url


async def test_a_model_that_calls_tools_badly_gets_its_answers_and_comes_to_an_end(
    provider: str, small_model: str
) -> None:
    async with open_executor() as opened:
        tools = ["demo.upper", "demo.numbers"]
        async with open_client(provider, opened.executor, small_model, tools=tools, max_rounds=1, timeout=60) as client:
            events = [event for question in QUESTIONS for event in await collect(client, question)]
            assert_sound(client)

    assert len(only(Finished, events)) == len(QUESTIONS)
    assert len(only(Usage, events)) >= len(QUESTIONS)
    assert all(usage.input_tokens and usage.output_tokens for usage in only(Usage, events))
    ended = only(ToolEnded, events)
    assert [event.id for event in ended] == [event.id for event in only(ToolStarted, events)]
    assert only(TextDelta, events) or ended
    # What it asks for is rarely a tool with its arguments; then it is told what there is.
    for event in ended:
        assert event.ok or event.text.startswith(("There is no tool", "The arguments", "demo."))


@pytest.mark.parametrize("form", ["anthropic", "openai"])
async def test_the_stream_of_a_server_that_others_wrote_is_understood(form: str, small_model: str) -> None:
    model = model_at(form, httpx.get(small_model).text, timeout=60)
    try:
        request = Request("", (UserMessage("Name a plant."),), (), max_tokens=8)
        pieces = [piece async for piece in model.stream(request)]
    finally:
        await model.close()

    spent = [piece for piece in pieces if isinstance(piece, Spent)][-1]
    assert "".join(piece.text for piece in pieces if isinstance(piece, Text)).strip()
    assert spent.input_tokens + spent.cache_read_tokens > 5
    assert 1 <= spent.output_tokens <= 8
    assert isinstance(pieces[-1], Stopped)


def asking(form: str, address: str) -> dict[str, Json]:
    """The section `ai` of a person who has this model."""
    return {"provider": form, form: {"model": "smollm2", "base_url": address}}


async def test_the_pack_llm_has_it_work_on_a_value_in_the_form_of_anthropic(small_model: str, tmp_path: Path) -> None:
    ai, secrets = asking("anthropic", small_model), {"ANTHROPIC_API_KEY": "any-key-for-it"}
    async with open_caller(tmp_path, packs={}, secrets=secrets, ai=ai) as caller:
        assert (await caller.run("llm.transform(input=['tea', 'coffee'], prompt='What is it?')")).strip()


async def test_the_pack_llm_says_what_is_wrong_with_its_values_in_the_form_of_openai(
    small_model: str, tmp_path: Path
) -> None:
    async with open_caller(tmp_path, packs={}, secrets={}, ai=asking("openai", f"{small_model}/v1")) as caller:
        nonsense = await caller.mistake('llm.extract(input="Ada, born in 1815", schema={"born": "int"})')

    assert "does not match the schema, even after it was told what was wrong" in nonsense
