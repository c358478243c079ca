"""A conversation as lines that are kept: each thing said or done, once it is complete, without known secrets.

Lines that are read back may hold anything; those that cannot be understood are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass, field, replace
from ot.ai.memory import STOPPED, Exchange, Round
from ot.ai.messages import AssistantMessage, Opaque, Part, Text, ToolCall, ToolMessage, ToolResult
from ot.text.redaction import Redactor

UNKNOWN = "[The program ended here: the result of this call is unknown.]"
Append = Callable[[JsonObject], None]


@dataclass(frozen=True, slots=True)
class Lines:
    redactor: Redactor
    append: Append
    clock: Callable[[], float] = time.time

    def model(self, provider: str, model: str) -> None:
        self._add(model={"provider": provider, "model": model})

    def question(self, text: str) -> None:
        self._add(question=text)

    def turn(self, message: AssistantMessage) -> None:
        self._add(turn=self._parts(message))

    def read(self, names: Iterable[str]) -> None:
        """Note all guarded tools whose values have been read so far, as flows go by."""
        self._add(read=[*sorted(names)])

    def results(self, message: ToolMessage) -> None:
        """Note what came of the calls of a turn; of pictures, that they were there."""
        lines: list[Json] = []
        for result in message.results:
            count = len(result.images)
            note = f"\n[{count} picture{'s' if count > 1 else ''} shown here, and not kept]" if count else ""
            lines.append({"text": f"{result.text}{note}", "ok": result.ok})
        self._add(results=lines)

    def answer(self, message: AssistantMessage) -> None:
        self._add(answer=self._parts(message))

    def _parts(self, message: AssistantMessage) -> list[Json]:
        return [part for part in map(self._part, message.parts) if part is not None]

    def _part(self, part: Part) -> JsonObject | None:
        match part:
            case Text():
                return {"text": part.text}
            case ToolCall():
                arguments = dict(part.arguments)
                return {"call": {"id": part.id, "name": part.name, "arguments": arguments, "problem": part.problem}}
            case Opaque():
                data = dict(part.data)
                # It is signed: without a secret in it, its provider would refuse it.
                unchanged = self.redactor.value(data) == data
                return {"opaque": {"provider": part.provider, "data": data}} if unchanged else None

    def _add(self, **line: Json) -> None:
        redacted: JsonObject = self.redactor.value(line)
        self.append({"at": round(self.clock(), 3), **redacted})


@dataclass(slots=True)
class Restored:
    exchanges: list[Exchange] = field(default_factory=list)
    provider: str = ""  # who answered last
    model: str = ""
    read: set[str] = field(default_factory=set)  # guarded tools whose values are in it


def restore(lines: Iterable[Mapping[str, Json]]) -> Restored:
    """Read a conversation; an exchange that broke off ends where it did, and one of which nothing came is left out."""
    found = Restored()
    for line in lines:
        match line:
            case {"model": {"provider": str(provider), "model": str(model)}}:
                found.provider, found.model = provider, model
            case {"read": list(names)}:
                found.read.update(map(str, names))
            case {"question": str(text)}:
                found.exchanges.append(Exchange(text))
            case _ if found.exchanges:
                _restore_part(found.exchanges[-1], line)
    found.exchanges = [exchange for exchange in found.exchanges if exchange.rounds or exchange.answer is not None]
    for exchange in found.exchanges:
        exchange.answer = exchange.answer or AssistantMessage((Text(STOPPED),))
    return found


def _restore_part(exchange: Exchange, line: Mapping[str, Json]) -> None:
    match line:
        case {"turn": list(parts)}:
            turn = AssistantMessage(tuple(part for part in map(_read_part, parts) if part is not None))
            if turn.calls:  # their results are unknown until a line tells them
                unknown = tuple(ToolResult(call, UNKNOWN, ok=False) for call in turn.calls)
                exchange.rounds.append(Round(turn, ToolMessage(unknown)))
        case {"results": list(results)} if exchange.rounds:
            last = exchange.rounds[-1]
            if len(results) == len(last.turn.calls):
                pairs = zip(last.results.results, results, strict=True)
                last.results = ToolMessage(tuple(_read_result(unknown, result) for unknown, result in pairs))
        case {"answer": list(parts)}:
            words = tuple(part for part in map(_read_part, parts) if isinstance(part, Text | Opaque))
            exchange.answer = AssistantMessage(words) if words else None


def _read_part(part: Json) -> Part | None:
    match part:
        case {"text": str(text)}:
            return Text(text)
        case {"call": {"id": str(name_of_call), "name": str(name), "arguments": dict(arguments), **rest}}:
            return ToolCall(name_of_call, name, arguments, str(rest.get("problem", "")))
        case {"opaque": {"provider": str(provider), "data": dict(data)}}:
            return Opaque(provider, data)
    return None


def _read_result(unknown: ToolResult, result: Json) -> ToolResult:
    match result:
        case {"text": str(text), "ok": bool(ok)}:
            return replace(unknown, text=text, ok=ok)
    return unknown
