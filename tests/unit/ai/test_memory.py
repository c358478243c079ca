"""Memory: whatever happens to a conversation, what is left of it is one that providers accept, within its bounds."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ot.ai.memory import Memory, Round, cut_middle, weigh
from ot.ai.messages import AssistantMessage, Message, Text, ToolCall, ToolMessage, ToolResult, UserMessage
from ot.config.assistant import MemorySettings
from tests.properties import unhurried

texts = st.text(max_size=40).map(lambda text: text * 20)
rounds = st.lists(st.lists(texts, min_size=1, max_size=3), max_size=4)
endings = st.sampled_from(["answered", "stopped", "silent", "failed"])
exchanges = st.lists(st.tuples(texts, rounds, texts, endings), max_size=12)


def play(memory: Memory, question: str, calls: list[list[str]], answer: str, ending: str) -> None:
    """One exchange, as the loop makes it."""
    exchange = memory.begin(question)
    for number, results in enumerate(calls):
        asked = tuple(ToolCall(f"{number}-{n}", "demo_upper", {"text": text}) for n, text in enumerate(results))
        found = tuple(ToolResult(call, text, ok=True) for call, text in zip(asked, results, strict=True))
        memory.add_round(exchange, Round(AssistantMessage((Text("hm"), *asked)), ToolMessage(found)))
        memory.messages()
    if ending == "answered":
        exchange.answer = AssistantMessage((Text(answer),))
    elif ending == "silent":
        exchange.answer = AssistantMessage(())
    memory.end(exchange, answer if ending == "stopped" else "")


def assert_acceptable(messages: tuple[Message, ...]) -> None:
    assert not messages or isinstance(messages[0], UserMessage)
    assert not messages or isinstance(messages[-1], AssistantMessage)
    for before, after in itertools.pairwise(messages):
        calls = before.calls if isinstance(before, AssistantMessage) else ()
        results = after.results if isinstance(after, ToolMessage) else ()
        assert [call.id for call in calls] == [result.call.id for result in results]
        assert type(before) is not type(after)


@unhurried
@given(exchanges, st.integers(2, 20), st.integers(1000, 5000))
def test_what_is_left_is_paired_and_within_bounds(
    played: list[tuple[str, list[list[str]], str, str]], count: int, size: int
) -> None:
    memory = Memory(MemorySettings(messages=max(count, 4), characters=size))

    for exchange in played:
        play(memory, *exchange)
        messages = memory.messages()

        assert_acceptable(messages)
        assert len(messages) <= max(count, 4)
        # A call's own arguments are never cut: a call with half an argument would be another call.
        assert sum(map(weigh, messages)) <= size + sum(
            weigh(one) for one in messages if isinstance(one, AssistantMessage)
        )


def test_the_oldest_goes_first_and_some_room_is_made_at_once() -> None:
    memory = Memory(MemorySettings(messages=8))

    for number in range(5):
        play(memory, f"question {number}", [], f"answer {number}", "answered")

    # Not one message with every question: that would void the provider's cache each time.
    assert [message.text for message in memory.messages() if isinstance(message, UserMessage)] == [
        "question 2",
        "question 3",
        "question 4",
    ]


def test_a_question_that_nothing_came_of_is_forgotten() -> None:
    memory = Memory(MemorySettings())

    play(memory, "hello?", [], "", "failed")

    assert memory.messages() == ()


def test_what_was_done_before_a_failure_is_kept() -> None:
    memory = Memory(MemorySettings())

    play(memory, "do it", [["done"]], "", "failed")

    assert [type(message) for message in memory.messages()] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]


def test_a_text_is_cut_in_its_middle() -> None:
    assert cut_middle("short", 100) == "short"
    assert cut_middle("a" * 500 + "b" * 500, 100) == f"{'a' * 30}\n[940 characters left out]\n{'b' * 30}"
