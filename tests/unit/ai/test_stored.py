"""Conversations as lines: read back, they are what was said, without secrets, and always one that providers accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ot.ai.memory import STOPPED, Exchange, Memory, Round
from ot.ai.messages import AssistantMessage, Opaque, Text, ToolCall, ToolMessage, ToolResult
from ot.ai.stored import UNKNOWN, Lines, restore
from ot.config.assistant import MemorySettings
from ot.text.redaction import Redactor
from ot.values import Image

CALL = ToolCall("call_1", "run", {"command": "demo.upper(text='x')"})
THOUGHT = Opaque("anthropic", {"type": "thinking", "signature": "abc"})


class Kept(Lines):
    """Keeps lines as a file would."""

    def clear(self) -> None: ...


def keep(*secrets: str) -> tuple[Kept, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    redactor = Redactor()
    for secret in secrets:
        redactor.learn(secret)
    return Kept(redactor, lambda line: lines.append(json.loads(json.dumps(line)))), lines


def talk(memory: Memory, question: str, answer: AssistantMessage | None, *, calls: bool = False) -> None:
    exchange = memory.begin(question)
    if calls:
        turn = AssistantMessage((THOUGHT, Text("Let me see."), CALL))
        memory.begin_round(turn)
        result = ToolResult(CALL, "X", ok=True, images=(Image(b"png"),))
        memory.add_round(exchange, Round(turn, ToolMessage((result,))))
    exchange.answer = answer
    memory.end(exchange)


def test_what_is_read_back_is_what_was_said() -> None:
    kept, lines = keep()
    memory = Memory(MemorySettings())
    memory.go_on([], kept)
    kept.model("ollama", "tiny")
    talk(memory, "first", AssistantMessage((Text("One."),)), calls=True)
    talk(memory, "nobody answered", None)
    talk(memory, "second", AssistantMessage((Text("Two."),)))

    found = restore(lines)

    assert (found.provider, found.model) == ("ollama", "tiny")
    assert [(one.question, one.answer.text if one.answer else "") for one in found.exchanges] == [
        ("first", "One."),
        ("second", "Two."),
    ]
    [done] = found.exchanges[0].rounds
    assert done.turn == AssistantMessage((THOUGHT, Text("Let me see."), CALL))
    assert done.results.results == (ToolResult(CALL, "X\n[1 picture shown here, and not kept]", ok=True),)


def test_what_broke_off_ends_there() -> None:
    kept, lines = keep()
    kept.question("do it")
    kept.turn(AssistantMessage((CALL,)))

    [exchange] = restore(lines).exchanges

    assert exchange.rounds[0].results.results == (ToolResult(CALL, UNKNOWN, ok=False),)
    assert exchange.answer == AssistantMessage((Text(STOPPED),))


def test_known_secrets_are_masked_and_a_signed_part_with_one_is_left_out() -> None:
    kept, lines = keep("hunter2-secret")
    signed = Opaque("anthropic", {"thinking": "it is hunter2-secret", "signature": "abc"})
    kept.question("is it hunter2-secret?")
    kept.turn(AssistantMessage((signed, ToolCall("1", "run", {"command": "print('hunter2-secret')"}))))
    kept.answer(AssistantMessage((signed, Text("It is hunter2-secret."))))

    assert "hunter2" not in json.dumps(lines)
    [exchange] = restore(lines).exchanges
    assert exchange.answer == AssistantMessage((Text("It is ***."),))
    assert [type(part) for part in exchange.rounds[0].turn.parts] == [ToolCall]


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"question": 3},
        {"answer": "no list"},
        {"answer": [{"call": {}}, 3]},
        {"turn": [{"text": "no call"}]},
        {"turn": None},
        {"results": []},
        {"results": [1, 2, 3]},
        {"model": "tiny"},
        {"another": "line"},
    ],
    ids=str,
)
def test_a_line_that_makes_no_sense_changes_nothing(line: dict[str, Any]) -> None:
    kept, lines = keep()
    kept.question("do it")
    kept.turn(AssistantMessage((CALL,)))
    kept.results(ToolMessage((ToolResult(CALL, "X", ok=True),)))
    whole = restore(lines)

    found = restore([line, *lines, line])

    assert [_facts(one) for one in found.exchanges] == [_facts(one) for one in whole.exchanges]


def _facts(exchange: Exchange) -> object:
    return exchange.question, exchange.rounds, exchange.answer
