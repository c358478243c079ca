"""Streams in OpenAI's form, as servers of many makers send them, and as none should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ot.ai.messages import Finished, Retrying, ToolEnded, Usage
from ot.errors import ModelRefusedError, ModelUnavailableError
from tests.models.clients import collect, only, open_client, words
from tests.models.raw_provider import BREAK, RawProvider, gpt_chunk, gpt_end
from tests.opened_executor import open_executor

pytestmark = pytest.mark.xdist_group("models")


def piece(index: int, **function: Any) -> dict[str, Any]:
    """A part of a call."""
    called = {"id": f"c{index}"} if "name" in function else {}
    return {"index": index, "type": "function", "function": function, **called}


async def test_a_page_for_people_is_no_stream(raw: RawProvider) -> None:
    raw.then(b"<html>busy</html>", content_type="text/html")
    raw.then(gpt_chunk("whole"), gpt_end())

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        [retrying] = only(Retrying, await collect(client, "go"))

    assert "does not answer with a stream" in retrying.reason


@pytest.mark.parametrize(
    "body",
    [
        [b"data: nonsense\n\n"],
        [b'data: {"choices": [{"delta": {"content": "ha\n\n'],
        [b"data: [1]\n\n"],
        [b"data: " + b"[" * 100_000 + b"\n\n"],
        [b'data: {"choices": [{"delta": {"content": 5, "tool_calls": [7]}}]}\n\n'],
        [b'data: {"error": {"message": "overloaded"}}\n\n'],
        [b"\xff\xfe\n\n"],
        [],
        [gpt_chunk("half")],
        [gpt_chunk("half"), BREAK],
        [gpt_chunk("half"), b"data: [DONE]\n\n"],
    ],
    ids=["no json", "cut json", "list", "deep", "types", "error", "bytes", "nothing", "no end", "broken", "done"],
)
async def test_a_stream_that_is_none_is_asked_for_again(raw: RawProvider, body: list[bytes]) -> None:
    raw.then(*body)
    raw.then(gpt_chunk("whole"), gpt_end())

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    [retrying] = only(Retrying, events)
    assert words(events) == retrying.withdrawn + "whole"


async def test_calls_come_in_pieces_that_alternate(raw: RawProvider) -> None:
    raw.then(
        gpt_chunk(calls=[piece(0, name="demo_upper", arguments="")]),
        gpt_chunk(calls=[piece(1, name="demo_upper", arguments='{"te')]),
        gpt_chunk(calls=[piece(0, arguments='{"text": "a"}'), piece(1, arguments='xt": "b"}')]),
        gpt_end("tool_calls"),
    )
    raw.then(gpt_chunk("done"), gpt_end())

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    assert sorted(event.text for event in only(ToolEnded, events)) == ["A", "B"]
    asked, *results = raw.requests[1]["messages"][2:]
    assert [call["id"] for call in asked["tool_calls"]] == ["c0", "c1"]
    assert [(one["tool_call_id"], one["content"]) for one in results] == [("c0", "A"), ("c1", "B")]


async def test_a_call_that_was_cut_off_says_so(raw: RawProvider) -> None:
    raw.then(gpt_chunk(calls=[piece(0, name="demo_upper", arguments='{"text": "a')]), gpt_end("length"))
    raw.then(gpt_chunk("I see"), gpt_end())

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        [ended] = only(ToolEnded, await collect(client, "go"))

    assert "The call was cut off" in ended.text


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (gpt_end("length"), "length"),
        (gpt_end("content_filter"), "refused"),
        (gpt_chunk(stop="stop"), "done"),  # without usage, and without a word that it is over
        (b'data: {"choices": [{"delta": {"refusal": "no"}, "finish_reason": "stop"}]}\n\n', "refused"),
    ],
    ids=["length", "filter", "no done", "refusal"],
)
async def test_why_an_answer_ended(raw: RawProvider, end: bytes, reason: Any) -> None:
    raw.then(gpt_chunk("so far"), end)

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        assert (await collect(client, "go"))[-1] == Finished(reason)


async def test_tokens_that_the_server_had_kept_are_counted_by_themselves(raw: RawProvider) -> None:
    raw.then(gpt_chunk("x"), gpt_end(sent=100, cached=60, written=7))
    prices = {"gpt-*": {"input": 1, "output": 10, "cache_read": 0.5}}

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url, prices=prices) as client:
        [usage] = only(Usage, await collect(client, "go"))

    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (40, 60, 7)
    assert usage.cost == pytest.approx((40 + 30 + 70) / 1_000_000)
    assert raw.requests[0]["max_tokens"] == 8192


async def test_credit_that_is_used_up_is_not_waited_for(raw: RawProvider) -> None:
    told = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    raw.then(json.dumps(told).encode(), status=429)

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        with pytest.raises(ModelUnavailableError) as caught:
            await client.ask("go")

    assert (caught.value.status, caught.value.attempts) == (402, 1)


async def test_an_unknown_model_comes_with_the_settings_that_name_it(raw: RawProvider) -> None:
    raw.then(b'{"error": {"message": "no such model"}}', status=404)

    async with open_executor() as opened, open_client("openai", opened.executor, raw.url) as client:
        with pytest.raises(ModelRefusedError) as caught:
            await client.ask("go")

    assert caught.value.reason.startswith("no such model; check ai.openai.model and ai.openai.base_url")
