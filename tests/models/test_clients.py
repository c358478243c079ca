"""Every client against a server that speaks their APIs over real HTTP: the same behaviour, whoever serves the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from ot.ai.messages import AssistantMessage, Finished, Retrying, TextDelta, ToolEnded, ToolMessage, ToolStarted, Usage
from ot.errors import ModelRefusedError, ModelUnavailableError
from tests.models.clients import AT_ONCE, assert_sound, collect, model_at, only, open_client, words
from tests.models.servers import ScriptedServer
from tests.opened_executor import Opened, add_tool, open_executor

pytestmark = pytest.mark.xdist_group("models")  # one server and one load of the libraries are enough

BEFORE: dict[str, Any] = {"hasToolResult": False}
AFTER: dict[str, Any] = {"hasToolResult": True}
ODD_TEXT = "  Grüße,\n\n\twörld 🎉 日本 \u2028 \x85 \u2029 <b>&amp;</b>  \n"


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.scenario("executor/ai-client-integration/anthropic-tool-execution")
async def test_claude_has_its_calls_carried_out_by_the_executor(server: ScriptedServer) -> None:
    await calls_reach_the_executor("anthropic", server)


@pytest.mark.scenario("executor/ai-client-integration/ollama-tool-execution")
async def test_a_model_of_ollama_has_its_calls_carried_out_by_the_executor(server: ScriptedServer) -> None:
    await calls_reach_the_executor("ollama", server)


async def calls_reach_the_executor(provider: str, server: ScriptedServer) -> None:
    server.answer(BEFORE, {"content": "Let me see.", "toolCalls": [call("sample_note", text="hello")]})
    server.answer(AFTER, {"content": "It is noted."})
    seen: list[dict[str, Any]] = []

    async def note(arguments: dict[str, Any]) -> str:
        seen.append(arguments)
        return "noted: token-0123456789"

    async with open_executor(secrets={"TOKEN": "token-0123456789"}) as opened:
        add_tool(opened, "sample.note", note)
        async with open_client(provider, opened.executor, server.url, tools=["sample.*"]) as client:
            events = await collect(client, "note it")
            assert_sound(client)

    assert seen == [{"text": "hello"}]
    assert [type(event) for event in events if not isinstance(event, TextDelta | Usage)] == [
        ToolStarted,
        ToolEnded,
        Finished,
    ]
    assert only(ToolStarted, events)[0].name == "sample.note"
    # The executor takes secrets out of whatever leaves it; the model is given what came through that door.
    assert only(ToolEnded, events)[0].text == "noted: ***"
    assert "token-0123456789" not in str(server.requests())
    assert "noted: ***" in str(server.requests()[1])
    assert words(events) == "Let me see.It is noted."


async def test_text_is_passed_on_byte_for_byte(provider: str, server: ScriptedServer) -> None:
    server.answer({}, {"content": ODD_TEXT})

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        events = await collect(client, "go")
        remembered = client.memory.messages()[-1]

    assert words(events) == ODD_TEXT
    assert len(only(TextDelta, events)) > 3
    assert isinstance(remembered, AssistantMessage)
    assert remembered.text == ODD_TEXT


async def test_several_rounds_of_tools(provider: str, server: ScriptedServer) -> None:
    server.answer({"toolResultContains": "ONE"}, {"toolCalls": [call("demo_upper", text="two")]})
    server.answer({"toolResultContains": "TWO"}, {"content": "ONE and TWO"})
    server.answer({}, {"toolCalls": [call("demo_upper", text="one")]})

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        answer = await client.ask("both")

    assert answer == "ONE and TWO"
    assert len(server.requests()) == 3


async def test_calls_of_one_turn_are_made_at_once_and_answered_in_order(provider: str, server: ScriptedServer) -> None:
    server.answer(BEFORE, {"toolCalls": [call("sample_meet", name=name) for name in "abc"]})
    server.answer(AFTER, {"content": "done"})
    met = {name: anyio.Event() for name in "abc"}
    after = {"c": "", "b": "c", "a": "b"}  # who ends before
    ended = {name: anyio.Event() for name in "abc"}

    async def meet(arguments: dict[str, Any]) -> str:
        name = arguments["name"]
        met[name].set()
        with anyio.fail_after(30):
            for other in met.values():
                await other.wait()
            if after[name]:
                await ended[after[name]].wait()
        ended[name].set()
        return f"met {name}"

    async with open_executor() as opened:
        add_tool(opened, "sample.meet", meet)
        async with open_client(provider, opened.executor, server.url, tools=["sample.*"]) as client:
            events = await collect(client, "meet")
            message = client.memory.messages()[2]

    assert [event.text for event in only(ToolEnded, events)] == ["met c", "met b", "met a"]
    assert isinstance(message, ToolMessage)
    assert [result.text for result in message.results] == ["met a", "met b", "met c"]


async def test_no_more_calls_at_once_than_are_allowed(provider: str, server: ScriptedServer) -> None:
    server.answer(BEFORE, {"toolCalls": [call("sample_count") for _ in range(6)]})
    server.answer(AFTER, {"content": "done"})
    inside, most = 0, 0

    async def count(_: dict[str, Any]) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await anyio.wait_all_tasks_blocked()  # whoever else may begin has begun
        inside -= 1

    async with open_executor() as opened:
        add_tool(opened, "sample.count", count)
        async with open_client(provider, opened.executor, server.url, tools=["sample.*"], max_parallel=2) as client:
            events = await collect(client, "count")

    assert (most, len(only(ToolEnded, events))) == (2, 6)


async def test_what_a_model_gets_wrong_is_told_to_it(provider: str, server: ScriptedServer) -> None:
    server.answer(
        BEFORE,
        {"toolCalls": [call("demo_uper", text="x"), call("demo_upper", text=5), call("ot_health"), call("demo_upper")]},
    )
    server.answer(AFTER, {"content": "sorry"})

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        events = await collect(client, "go")
        message = client.memory.messages()[2]
        assert_sound(client)

    assert isinstance(message, ToolMessage)
    first, second, third, fourth = (result.text for result in message.results)
    assert first.startswith("There is no tool 'demo_uper'. Tools: demo_upper, ")
    assert second == "demo.upper: text must be str, not int. Expected: demo.upper(*, text: str) -> str"
    assert third.startswith("There is no tool 'ot_health'.")  # it exists, and was not offered
    assert fourth.startswith("demo.upper: text is missing.")
    assert [event.ok for event in only(ToolEnded, events)] == [False] * 4
    assert words(events) == "sorry"


async def test_a_model_that_never_stops_calling_is_stopped(provider: str, server: ScriptedServer) -> None:
    server.answer({}, {"content": "again", "toolCalls": [call("demo_upper", text="x")]})

    async with open_executor() as opened, open_client(provider, opened.executor, server.url, max_rounds=3) as client:
        events = await collect(client, "go")
        assert_sound(client)

    assert len(only(ToolEnded, events)) == 3
    assert events[-1] == Finished("rounds")
    assert len(server.requests()) == 4
    assert "No more tools can be called" in str(server.requests()[-1])


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_an_overloaded_provider_is_asked_again(provider: str, status: int, server: ScriptedServer) -> None:
    server.answer({}, {"content": "here I am"})
    server.fail_once(status, "too much to do")

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        events = await collect(client, "go")

    assert [event.reason for event in only(Retrying, events)] == ["too much to do"]
    assert words(events) == "here I am"


@pytest.mark.parametrize("fault", ["rateLimitRate", "dropRate", "malformedRate", "disconnectRate"])
async def test_a_provider_that_stays_broken_is_given_up(provider: str, fault: str, server: ScriptedServer) -> None:
    server.answer({}, {"content": "never"})
    server.misbehave(**{fault: 1})
    hurry = {"backoff": replace(AT_ONCE, patience=0.1)}  # the server asks for a second

    async with open_executor() as opened, open_client(provider, opened.executor, server.url, options=hurry) as client:
        with pytest.raises(ModelUnavailableError) as caught:
            await client.ask("go")
        server.misbehave()
        assert client.memory.messages() == ()  # nothing came of the question
        assert await client.ask("go") == "never"

    assert caught.value.attempts == (1 if fault == "rateLimitRate" else 3)


async def test_an_answer_that_breaks_off_starts_over_and_says_so(provider: str, server: ScriptedServer) -> None:
    text = "one two three four five six seven"
    server.answer({"sequenceIndex": 0}, {"content": text}, truncateAfterChunks=5, latency=10)
    server.answer({}, {"content": text})

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        events = await collect(client, "count")
        remembered = client.memory.messages()[-1]

    [retrying] = only(Retrying, events)
    assert retrying.withdrawn
    assert text.startswith(retrying.withdrawn)
    assert words(events) == retrying.withdrawn + text
    assert isinstance(remembered, AssistantMessage)
    assert remembered.text == text


async def test_tools_are_not_called_twice_when_the_turn_after_them_fails(provider: str, server: ScriptedServer) -> None:
    server.answer({**BEFORE, "sequenceIndex": 0}, {"toolCalls": [call("sample_count")]}, truncateAfterChunks=2)
    server.answer(BEFORE, {"toolCalls": [call("sample_count")]})
    server.answer({**AFTER, "sequenceIndex": 0}, {"content": "so many words here"}, truncateAfterChunks=4)
    server.answer(AFTER, {"content": "once"})
    made = 0

    async def count(_: dict[str, Any]) -> int:
        nonlocal made
        made += 1
        return made

    async with open_executor() as opened:
        add_tool(opened, "sample.count", count)
        async with open_client(provider, opened.executor, server.url, tools=["sample.*"]) as client:
            answer = await client.ask("count")
            assert_sound(client)

    assert (answer, made) == ("once", 1)
    assert len(server.requests()) == 4


async def test_a_refused_request_is_not_repeated(provider: str, server: ScriptedServer) -> None:
    server.fail_once(401, "invalid key")

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        with pytest.raises(ModelRefusedError) as caught:
            await client.ask("go")

    assert (caught.value.status, caught.value.reason) == (401, "invalid key")
    assert len(server.requests()) == 1


async def test_another_provider_goes_on_with_the_conversation(provider: str, server: ScriptedServer) -> None:
    other = {"anthropic": "ollama", "ollama": "openai", "openai": "anthropic"}[provider]
    nowhere = "http://127.0.0.1:9"
    server.answer({"userMessage": "first", **BEFORE}, {"toolCalls": [call("demo_upper", text="x")]})
    server.answer({"userMessage": "first", **AFTER}, {"content": "X it is"})
    server.answer({"userMessage": "second"}, {"content": "still here"})

    async with open_executor() as opened:
        spare = {"spare": model_at(other, nowhere)}
        async with open_client(provider, opened.executor, server.url, options=spare) as client:
            assert await client.ask("first") == "X it is"
            messages = client.memory.messages()
        spare = {"spare": model_at(other, server.url)}
        async with open_client(provider, opened.executor, nowhere, options=spare) as client:
            events = await collect(client, "first")
            assert client.model.provider == other
            again = await collect(client, "second")
            assert_sound(client)
            assert [type(message) for message in client.memory.messages()[:4]] == [type(one) for one in messages]

    assert [event.provider for event in only(Retrying, events)] == ["", "", other]
    assert words(events) == "X it is"
    assert only(Retrying, again) == []  # it is not asked again for a while
    assert words(again) == "still here"
    assert "X it is" in str(server.requests()[-1])


async def test_pictures_reach_claude_as_pictures(server: ScriptedServer) -> None:
    server.answer(BEFORE, {"toolCalls": [call("demo_picture")]})
    server.answer(AFTER, {"content": "orange"})

    async with open_executor() as opened, open_client("anthropic", opened.executor, server.url) as client:
        assert await client.ask("draw") == "orange"
        message = client.memory.messages()[2]

    assert isinstance(message, ToolMessage)
    assert [image.mime_type for image in message.results[0].images] == ["image/png"]


async def test_one_conversation_answers_one_thing_at_a_time(provider: str, server: ScriptedServer) -> None:
    server.answer({"userMessage": "slow"}, {"content": "a b c d e f g h"}, latency=10)
    server.answer({"userMessage": "quick"}, {"content": "now"})
    answers: list[str] = []

    async def ask(text: str) -> None:
        answers.append(await client.ask(text))

    async with open_executor() as opened, open_client(provider, opened.executor, server.url) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "slow")
            tasks.start_soon(ask, "quick")
        assert_sound(client)

    assert answers == ["a b c d e f g h", "now"]


@pytest.fixture
async def opened() -> Any:
    async with open_executor() as found:
        yield found


async def test_a_client_that_is_asked_again_remembers(provider: str, server: ScriptedServer, opened: Opened) -> None:
    server.answer({"userMessage": "my name is Ada"}, {"content": "Hello Ada"})
    server.answer({"userMessage": "who am I"}, {"content": "Ada"})

    async with open_client(provider, opened.executor, server.url) as client:
        await client.ask("my name is Ada")
        await client.ask("who am I")
        client.memory.clear()
        await client.ask("who am I")

    sent = [[message["content"] for message in request["messages"][1:]] for request in server.requests()]
    assert sent == [["my name is Ada"], ["my name is Ada", "Hello Ada", "who am I"], ["who am I"]]
