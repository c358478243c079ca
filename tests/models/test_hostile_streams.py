"""Streams that no honest server would send: the loop stays sane, and the model is told what it got wrong."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from ot.ai.messages import AssistantMessage, Finished, Retrying, ToolEnded, ToolMessage, Usage
from ot.errors import ModelRefusedError, ModelUnavailableError
from tests.models.clients import assert_sound, collect, only, open_client, words
from tests.models.raw_provider import (
    BREAK,
    HANG,
    RawProvider,
    begun,
    claude_call,
    claude_end,
    claude_event,
    claude_start,
    claude_text,
    end_of,
    llama_end,
    llama_part,
    silent,
    spoken,
)
from tests.opened_executor import open_executor

pytestmark = pytest.mark.xdist_group("models")  # one server and one load of the libraries are enough

BROKEN_JSON = {
    "half": ('{"text": "a', "not valid JSON"),
    "words": ("please shout", "not valid JSON"),
    "list": ('["a"]', "must be an object, not list"),
    "text": ('"a"', "must be an object, not str"),
    "nan": ('{"text": NaN}', "NaN is not JSON"),
    "deep": ("[" * 100_000, "not valid JSON"),
}


@pytest.mark.parametrize(("written", "words_about_it"), BROKEN_JSON.values(), ids=BROKEN_JSON)
async def test_arguments_that_are_no_object_are_told_to_the_model(
    raw: RawProvider, written: str, words_about_it: str
) -> None:
    raw.then(claude_start(), claude_call("demo_upper", written), claude_end("tool_use"))
    raw.then(claude_start(), claude_text("I see"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    [ended] = only(ToolEnded, events)
    assert not ended.ok
    assert words_about_it in ended.text
    assert ended.text.endswith("Nothing was called.")
    result = raw.requests[1]["messages"][-1]["content"][0]
    assert (result["tool_use_id"], result["is_error"]) == ("t1", True)
    assert raw.requests[1]["messages"][-2]["content"][0]["input"] == {}


async def test_a_call_that_was_cut_off_by_the_limit_says_so(raw: RawProvider) -> None:
    raw.then(claude_start(), claude_call("demo_upper", '{"text": "a'), claude_end("max_tokens"))
    raw.then(claude_start(), claude_text("I see"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        [ended] = only(ToolEnded, await collect(client, "go"))

    assert "The call was cut off" in ended.text


async def test_calls_without_an_id_or_with_the_same_one_keep_apart(raw: RawProvider) -> None:
    odd = [None, "", "same", "same", "with blanks!", 7]
    calls = [claude_call("demo_upper", json.dumps({"text": str(n)}), call_id=one, index=n) for n, one in enumerate(odd)]
    raw.then(claude_start(), *calls, claude_end("tool_use"))
    raw.then(claude_start(), claude_text("done"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        events = await collect(client, "go")
        assert_sound(client)

    ids = [block["tool_use_id"] for block in raw.requests[1]["messages"][-1]["content"]]
    assert len(set(ids)) == len(odd)
    assert all(one.replace("_", "").replace("-", "").isalnum() for one in ids)
    assert sorted(event.text for event in only(ToolEnded, events)) == [str(n) for n in range(len(odd))]


@pytest.mark.parametrize("name", ["", "a b", "x" * 500, "../../etc", "demo.upper\x1b[2J", None, "名前"])
async def test_odd_names_are_answered_and_can_be_sent_back(raw: RawProvider, name: Any) -> None:
    raw.then(claude_start(), claude_call(name, "{}"), claude_end("tool_use"))
    raw.then(claude_start(), claude_text("done"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        [ended] = only(ToolEnded, await collect(client, "go"))

    assert ended.text.startswith("There is no tool")
    sent = raw.requests[1]["messages"][-2]["content"][0]["name"]
    assert 1 <= len(sent) <= 64
    assert sent.isascii()


@pytest.mark.parametrize(
    "body",
    [
        [b"<html>busy</html>"],
        [b"event: message_start\ndata: {}\n\n"],
        [b'event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n'],
        [b"event: message_start\ndata: nonsense\n\n"],
        [b"\xff\xfe\x00"],
        [],
        [claude_start(), claude_text("half")],
        [claude_start(), claude_text("half"), BREAK],
        [claude_start(), claude_event("error", error={"type": "overloaded_error", "message": "busy"})],
    ],
    ids=["html", "empty event", "no delta", "no json", "no text", "nothing", "no end", "broken", "error event"],
)
async def test_a_stream_of_claude_that_is_none_is_asked_for_again(raw: RawProvider, body: list[bytes]) -> None:
    raw.then(*body)
    raw.then(claude_start(), claude_text("whole"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    [retrying] = only(Retrying, events)
    assert words(events) == retrying.withdrawn + "whole"


@pytest.mark.parametrize(
    "body",
    [
        [b"<html>busy</html>\n"],
        [b"{}\n"],
        [b"[1, 2]\n"],
        [b'{"message": {"role": "assistant", "content": 5}}\n'],
        [b"\xff\xfe\n"],
        [],
        [llama_part("half")],
        [llama_part("half"), BREAK],
        [llama_part("half"), b'{"error": "llama runner ended"}\n'],
        [llama_part(calls=[("demo_upper", "not an object")])],
    ],
    ids=["html", "empty", "list", "number", "no text", "nothing", "no end", "broken", "error", "arguments"],
)
async def test_a_stream_of_ollama_that_is_none_is_asked_for_again(raw: RawProvider, body: list[bytes]) -> None:
    raw.then(*body)
    raw.then(llama_part("whole"), llama_end())

    async with open_executor() as opened, open_client("ollama", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    [retrying] = only(Retrying, events)
    assert words(events) == retrying.withdrawn + "whole"


async def test_characters_that_are_split_between_packets_arrive_whole(provider: str, raw: RawProvider) -> None:
    text = "ä€🎉\u2028\x85\u2029 ok"
    raw.then(*(bytes([byte]) for byte in b"".join(spoken(provider, text))))

    async with open_executor() as opened, open_client(provider, opened.executor, raw.url) as client:
        assert words(await collect(client, "go")) == text


async def test_a_turn_without_words_is_an_answer_too(provider: str, raw: RawProvider) -> None:
    raw.then(*silent(provider))
    raw.then(*spoken(provider, "hm"))

    async with open_executor() as opened, open_client(provider, opened.executor, raw.url) as client:
        events = await collect(client, "go")
        await client.ask("and now?")
        assert_sound(client)

    assert events[-1] == Finished("done")
    assert "[no words]" in json.dumps(raw.requests[1])


async def test_a_huge_answer_passes_through_and_memory_keeps_its_bounds(provider: str, raw: RawProvider) -> None:
    piece = "word " * 20_000
    raw.then(*begun(provider, piece) * 30, end_of(provider))

    async with open_executor() as opened:
        memory = {"characters": 10_000}
        async with open_client(provider, opened.executor, raw.url, memory=memory) as client:
            events = await collect(client, "go")
            [_, answer] = client.memory.messages()

    assert len(words(events)) == 30 * len(piece)
    assert isinstance(answer, AssistantMessage)
    assert len(answer.text) < 10_000
    assert "characters left out" in answer.text


async def test_a_turn_with_hundreds_of_calls_is_cut(raw: RawProvider) -> None:
    raw.then(llama_part(calls=[("demo_upper", {"text": "x"})] * 500), llama_end())
    raw.then(llama_part("done"), llama_end())

    async with open_executor() as opened, open_client("ollama", opened.executor, raw.url) as client:
        events = await collect(client, "go")
        assert_sound(client)

    assert len(only(ToolEnded, events)) == 64


async def test_what_the_model_thought_goes_back_to_it_unchanged(raw: RawProvider) -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    raw.then(
        claude_start(),
        claude_event("content_block_start", index=0, content_block=thinking),
        claude_event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "let me "}),
        claude_event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "see"}),
        claude_event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "sig=="}),
        claude_event("content_block_stop", index=0),
        claude_event("content_block_start", index=1, content_block={"type": "redacted_thinking", "data": "xyz"}),
        claude_event("content_block_stop", index=1),
        claude_call("demo_upper", '{"text": "a"}', index=2),
        claude_end("tool_use"),
    )
    raw.then(claude_start(), claude_text("A"), claude_end())

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        events = await collect(client, "go")

    assert words(events) == "A"
    first, second, third = raw.requests[1]["messages"][1]["content"]
    assert first == {"type": "thinking", "thinking": "let me see", "signature": "sig=="}
    assert second == {"type": "redacted_thinking", "data": "xyz"}
    assert third["type"] == "tool_use"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_tokens", "length"), ("refusal", "refused"), ("stop_sequence", "done"), ("odd", "done")],
)
async def test_why_an_answer_ended(raw: RawProvider, reason: str, expected: Any) -> None:
    raw.then(claude_start(), claude_text("so far"), claude_end(reason))

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        assert (await collect(client, "go"))[-1] == Finished(expected)


async def test_a_provider_that_asks_for_patience_gets_it(provider: str, raw: RawProvider) -> None:
    raw.then(b"{}", status=429, retry_after_ms="30")
    raw.then(*spoken(provider, "x"))
    raw.then(b"{}", status=429, retry_after="86400")

    async with open_executor() as opened, open_client(provider, opened.executor, raw.url) as client:
        events = await collect(client, "go")
        with pytest.raises(ModelUnavailableError) as caught:  # a day is too much, and is not waited for
            await client.ask("go")

    assert [event.seconds for event in only(Retrying, events)] == [0.03]
    assert caught.value.attempts == 1


async def test_an_unknown_model_of_ollama_comes_with_the_way_out(raw: RawProvider) -> None:
    raw.then(b'{"error": "model \\"llama3.2\\" not found"}', status=404)

    async with open_executor() as opened, open_client("ollama", opened.executor, raw.url) as client:
        with pytest.raises(ModelRefusedError) as caught:
            await client.ask("go")

    assert caught.value.reason == 'model "llama3.2" not found; run `ollama pull llama3.2` to download the model'


async def test_an_unknown_model_of_anthropic_comes_with_the_settings_that_name_it(raw: RawProvider) -> None:
    raw.then(b'{"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}}', status=404)

    async with open_executor() as opened, open_client("anthropic", opened.executor, raw.url) as client:
        with pytest.raises(ModelRefusedError) as caught:
            await client.ask("go")

    assert caught.value.reason == ("model: claude-9; check ai.anthropic.model and ai.anthropic.base_url")


async def test_tokens_and_costs_are_counted_with_those_of_the_cache(raw: RawProvider) -> None:
    noted: list[tuple[Usage, float]] = []
    usage = {"input_tokens": 100, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200}
    raw.then(claude_start(**usage), claude_text("x"), claude_end(output_tokens=40))
    raw.then(claude_start(**usage), claude_text("half"), BREAK)
    raw.then(claude_start(**usage), claude_text("x"), claude_end(output_tokens=40))
    price = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}

    async with open_executor() as opened:
        options = {"record": lambda _, used, seconds, __: noted.append((used, seconds))}
        async with open_client(
            "anthropic", opened.executor, raw.url, options=options, prices={"claude-*": price}
        ) as client:
            events = [*await collect(client, "go"), *await collect(client, "go")]
            [total] = client.totals.values()

    dollars = (100 * 3 + 40 * 15 + 1000 * 0.3 + 200 * 3.75) / 1_000_000
    first, second = only(Usage, events)
    assert first == second
    assert (first.input_tokens, first.output_tokens) == (100, 40)
    assert (first.cache_read_tokens, first.cache_write_tokens) == (1000, 200)
    assert first.cost == pytest.approx(dollars)
    # The request that broke off has cost something too.
    assert [used.output_tokens for used, _ in noted] == [40, 1, 40]
    assert (total.requests, total.output_tokens) == (3, 81)


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_a_stopped_answer_ends_the_request(provider: str, how: str, raw: RawProvider) -> None:
    raw.then(*begun(provider, "so far"), HANG)
    raw.then(*spoken(provider, "on"))

    async with open_executor() as opened, open_client(provider, opened.executor, raw.url) as client:
        with anyio.fail_after(60):
            if how == "close":
                reply = client.reply("go")
                assert words([await anext(reply)]) == "so far"
                await reply.aclose()
            else:
                with anyio.CancelScope() as scope:
                    async for event in client.reply("go"):
                        if words([event]):
                            scope.cancel()
            await raw.left.wait()
        assert_sound(client)
        assert isinstance(client.memory.messages()[-1], AssistantMessage)
        await client.ask("go on")

    assert "so far\\n[The answer was stopped here.]" in json.dumps(raw.requests[1])


async def test_results_of_calls_that_were_made_are_kept_when_the_answer_is_stopped(raw: RawProvider) -> None:
    raw.then(llama_part(calls=[("demo_upper", {"text": "x"}), ("demo_sleep", {"seconds": 60})]), llama_end())
    raw.then(llama_part("I know"), llama_end())

    async with open_executor() as opened, open_client("ollama", opened.executor, raw.url) as client:
        with anyio.fail_after(60):
            async for event in client.reply("go"):
                if isinstance(event, ToolEnded):
                    break
            assert await client.ask("what happened?") == "I know"
        assert_sound(client)
        message = client.memory.messages()[2]

    assert isinstance(message, ToolMessage)
    assert [result.text for result in message.results] == ["X", "The call was stopped before it was finished."]
