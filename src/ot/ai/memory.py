"""The part of a conversation that the model is shown: bounded, and complete in itself.

A conversation is a list of exchanges: what the person said, rounds of calls with their results, and the answer. The
parts of a round are only ever added and dropped together, and an exchange begins with the person, so every conversation
that can be read out of here is one that providers accept, whatever was cancelled or dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Protocol

from mcp_core.quick_dataclass import dataclass, field, replace
from ot.ai.messages import AssistantMessage, Message, Opaque, Text, ToolCall, ToolMessage, ToolResult, UserMessage
from ot.config.assistant import MemorySettings

STOPPED = "[The answer was stopped here.]"
NOTHING = "[no words]"
IMAGE_WEIGHT = 6000  # characters that a picture counts for
_KEPT = 0.75  # of a limit that was passed: dropping a message each time would void the provider's cache each time


@dataclass(slots=True)
class Round:
    """One turn of the model that asked for calls, and their results."""

    turn: AssistantMessage
    results: ToolMessage


@dataclass(slots=True, eq=False)
class Exchange:
    """One thing that the person said, and everything that came of it."""

    question: str
    rounds: list[Round] = field(default_factory=list)
    answer: AssistantMessage | None = None

    def messages(self) -> Iterator[Message]:
        """Yield its messages in order; the answer is missing while it is being given."""
        yield UserMessage(self.question)
        for one in self.rounds:
            yield one.turn
            yield one.results
        if self.answer is not None:
            yield self.answer


class Keeper(Protocol):
    """Keeps what is said and done, as soon as it is complete: a turn that asks for calls before any is made."""

    def question(self, text: str) -> None: ...
    def turn(self, message: AssistantMessage) -> None: ...
    def results(self, message: ToolMessage) -> None: ...
    def answer(self, message: AssistantMessage) -> None: ...
    def clear(self) -> None: ...


class Memory:
    def __init__(self, settings: MemorySettings) -> None:
        self._settings = settings
        self._exchanges: list[Exchange] = []
        self._keeper: Keeper | None = None

    def go_on(self, exchanges: Sequence[Exchange], keeper: Keeper) -> None:
        """Begin with what was said before, and let somebody keep what is said from now on."""
        self._exchanges = list(exchanges)
        self._keeper = keeper

    def begin(self, question: str) -> Exchange:
        """Begin an exchange with what the person said; `end` must follow."""
        exchange = Exchange(question)
        self._exchanges.append(exchange)
        if self._keeper is not None:
            self._keeper.question(question)
        return exchange

    def begin_round(self, turn: AssistantMessage) -> None:
        """Note the calls of a turn that are about to be made; `add_round` must follow."""
        if self._keeper is not None:
            self._keeper.turn(turn)

    def add_round(self, exchange: Exchange, done: Round) -> None:
        exchange.rounds.append(done)
        if self._keeper is not None:
            self._keeper.results(done.results)

    def end(self, exchange: Exchange, unfinished: str = "") -> None:
        """End an exchange. Without an answer it keeps what there was of one, or is forgotten."""
        if exchange.answer is not None:
            words = exchange.answer.text.strip() or exchange.answer.calls
            exchange.answer = exchange.answer if words else AssistantMessage((Text(NOTHING),))
        elif unfinished.strip():
            exchange.answer = AssistantMessage((Text(f"{unfinished}\n{STOPPED}"),))
        elif exchange.rounds:
            exchange.answer = AssistantMessage((Text(STOPPED),))
        elif exchange in self._exchanges:
            self._exchanges.remove(exchange)
        if self._keeper is not None and exchange.answer is not None:
            self._keeper.answer(exchange.answer)
        self._bound()

    def clear(self) -> None:
        self._exchanges.clear()
        if self._keeper is not None:
            self._keeper.clear()

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation within its bounds; the first message is always the person's."""
        self._bound()
        return tuple(message for exchange in self._exchanges for message in exchange.messages())

    def _bound(self) -> None:
        """Drop whole exchanges from the front; the last one stays, in a smaller form if need be."""
        most, room = self._settings.messages, self._settings.characters
        measures = [_measure(exchange) for exchange in self._exchanges]
        count, size = sum(one[0] for one in measures), sum(one[1] for one in measures)
        if count <= most and size <= room:
            return
        most, room = max(int(most * _KEPT), 2), int(room * _KEPT)
        dropped = 0
        while dropped < len(measures) - 1 and (count > most or size > room):
            count, size = count - measures[dropped][0], size - measures[dropped][1]
            dropped += 1
        del self._exchanges[:dropped]
        if count > most or size > room:
            _shrink(self._exchanges[0], most, room)


def _measure(exchange: Exchange) -> tuple[int, int]:
    weights = list(map(weigh, exchange.messages()))
    return len(weights), sum(weights)


def weigh(message: Message | Text | ToolCall | Opaque) -> int:
    match message:
        case UserMessage() | Text():
            return len(message.text)
        case ToolCall():
            return len(message.name) + len(json.dumps(message.arguments, default=str))
        case Opaque():
            return len(json.dumps(message.data, default=str))
        case AssistantMessage():
            return sum(map(weigh, message.parts))
        case ToolMessage():
            return sum(map(_weigh_result, message.results))


def _weigh_result(result: ToolResult) -> int:
    return len(result.text) + IMAGE_WEIGHT * len(result.images)


def _shrink(exchange: Exchange, count: int, size: int) -> None:
    """Shrink one exchange that is too long by itself: drop its oldest rounds, then cut each text to its share."""
    del exchange.rounds[: max(0, len(exchange.rounds) - max(1, (count - 2) // 2))]
    while len(exchange.rounds) > 1 and _measure(exchange)[1] > size:
        del exchange.rounds[0]
    if _measure(exchange)[1] <= size:
        return
    results = [result for one in exchange.rounds for result in one.results.results]
    share = size // (len(results) + 2)
    exchange.question = cut_middle(exchange.question, share)
    for one in exchange.rounds:
        cut = (
            replace(result, text=cut_middle(result.text, share), images=()) if _weigh_result(result) > share else result
            for result in one.results.results
        )
        one.results = ToolMessage(tuple(cut))
    if exchange.answer is not None and weigh(exchange.answer) > share:
        exchange.answer = AssistantMessage((Text(cut_middle(exchange.answer.text or NOTHING, share)),))


def cut_middle(text: str, limit: int) -> str:
    """Cut a text that is too long to its head and tail, with a note of how much is missing."""
    if len(text) <= limit:
        return text
    half = max(limit // 2 - 20, 0)
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[len(text) - half :]}"
