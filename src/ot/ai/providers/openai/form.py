"""Translation between our form and OpenAI's: the messages and tools of a request, and the chunks of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from mcp_core.quick_dataclass import dataclass
from ot.ai import messages
from ot.ai.providers.answers import CUT_OFF, read_arguments

PROVIDER = "openai"
_STOPS: dict[str, Literal["length", "refused"]] = {"length": "length", "content_filter": "refused"}


def render_request(request: messages.Request, model: str, *, limit_name: str) -> JsonObject:
    """Return the body of a request; `limit_name` is what the server calls the limit of tokens."""
    system: list[JsonObject] = [{"role": "system", "content": request.system}] if request.system else []
    rendered: JsonObject = {
        "model": model,
        "messages": [*system, *(one for message in request.messages for one in _render(message))],
        "stream": True,
        "stream_options": {"include_usage": True},
        limit_name: request.max_tokens,
    }
    if request.tools:
        rendered["tools"] = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
            }
            for one in request.tools
        ]
        if not request.may_call:
            rendered["tool_choice"] = "none"
    return rendered


def _render(message: messages.Message) -> Iterator[JsonObject]:
    match message:
        case messages.UserMessage():
            yield {"role": "user", "content": message.text}
        case messages.AssistantMessage():
            turn: JsonObject = {"role": "assistant", "content": message.text}
            if message.calls:
                calls = ((call, json.dumps(dict(call.arguments), ensure_ascii=False)) for call in message.calls)
                turn["tool_calls"] = [
                    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
                    for call, arguments in calls
                ]
            yield turn
        case messages.ToolMessage():
            for result in message.results:
                words = result.text if result.ok else f"Error: {result.text}"
                yield {"role": "tool", "tool_call_id": result.call.id, "content": words}


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class TurnReader:
    """Reads the chunks of one stream, of which nothing is trusted to have the type it should."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._stop = ""
        self._declined = False

    def read(self, chunk: Json) -> Iterator[messages.Piece]:
        choices = list_of(_part(chunk, "choices"))
        delta = _part(choices[0], "delta") if choices else None
        for text in (_text(delta, "content"), _text(delta, "refusal")):
            if text:
                yield messages.Text(text)
        self._declined |= bool(_text(delta, "refusal"))
        for number, part in enumerate(list_of(_part(delta, "tool_calls"))):
            index, function = _part(part, "index"), _part(part, "function")
            call = self._calls.setdefault(index if type(index) is int else number, _Call())
            call.id = call.id or _text(part, "id")
            call.name = call.name or _text(function, "name")
            call.arguments += _text(function, "arguments")
        self._stop = (_text(choices[0], "finish_reason") if choices else "") or self._stop
        usage = _part(chunk, "usage")
        if isinstance(usage, dict):
            sent = _number(usage, "prompt_tokens")
            cached = min(_number(_part(usage, "prompt_tokens_details"), "cached_tokens"), sent)
            yield messages.Spent(sent - cached, _number(usage, "completion_tokens"), cache_read_tokens=cached)

    def end(self) -> Iterator[messages.Piece]:
        """Yield the calls and the end of the turn, now that the stream is over; nothing if it was not complete."""
        if not self._stop:
            return
        for call in self._calls.values():
            arguments, problem = read_arguments(call.arguments if call.arguments.strip() else "{}")
            if problem and self._stop == "length":
                problem = CUT_OFF
            yield messages.ToolCall(call.id, call.name, arguments, problem)
        yield messages.Stopped("refused" if self._declined else _STOPS.get(self._stop, "done"))


def _part(value: Json, name: str) -> Json:
    return mapping_of(value).get(name)


def _text(value: Json, name: str) -> str:
    text = _part(value, name)
    return text if isinstance(text, str) else ""


def _number(value: Json, name: str) -> int:
    number = _part(value, name)
    return number if type(number) is int and number >= 0 else 0
