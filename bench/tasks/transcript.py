"""What a model reads and writes in one task, in tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_types import Tool


@dataclass(frozen=True, slots=True)
class Turn:
    """One request to a model: what it wrote, and what came back for the next one to read."""

    written: int
    read: int = 0


@dataclass(slots=True)
class Transcript:
    """The turns of one task; the last one is the answer. `count` tells the tokens of a text."""

    count: Callable[[str], int]
    question: int = 0
    turns: list[Turn] = field(default_factory=list)
    seconds: float = 0.0  # spent in calls; what a model would take is not known

    def ask(self, question: str) -> None:
        self.question = self.count(question)

    def call(self, calls: Sequence[tuple[str, Mapping[str, object]]], results: Sequence[str]) -> None:
        """Calls that a model made in one request, and what it reads of their results."""
        written = sum(self.count(_as_json({"name": name, "arguments": given})) for name, given in calls)
        self.turns.append(Turn(written, sum(map(self.count, results))))

    def answer(self, text: str) -> None:
        self.turns.append(Turn(self.count(text)))

    @property
    def requests(self) -> int:
        return len(self.turns)

    @property
    def written(self) -> int:
        """What the model writes itself: the dear part of a bill."""
        return sum(turn.written for turn in self.turns)

    def entering(self, definitions: int) -> int:
        """Everything that is in the context at the end, counted once."""
        return definitions + self.question + sum(turn.written + turn.read for turn in self.turns)

    def billed(self, definitions: int) -> int:
        """The sum over all requests: each sends the whole context so far again, and adds what the model writes."""
        total, context = 0, definitions + self.question
        for turn in self.turns:
            total += context + turn.written
            context += turn.written + turn.read
        return total


def definitions_text(tools: Sequence[Tool], instructions: str | None) -> str:
    """What a model reads of a server before anything is asked: name, description and schema of each tool."""
    seen = [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]
    return _as_json(seen) + (instructions or "")


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
