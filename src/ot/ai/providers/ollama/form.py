"""Translation between our form and Ollama's: the messages and tools of a request, and the parts of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from ot.ai import messages
from ot.ai.providers.answers import check_arguments

if TYPE_CHECKING:
    from ollama import ChatResponse

PROVIDER = "ollama"
_KEPT = frozenset({"type", "enum", "items", "description", "title", "default"})
_DETAILS = 400  # characters of a schema that go into a description


def render_messages(request: messages.Request) -> list[JsonObject]:
    """Return the conversation; results stand in the order of their calls, since Ollama has no ids."""
    system: list[JsonObject] = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *(one for message in request.messages for one in _render(message))]


def render_tools(request: messages.Request) -> list[JsonObject] | None:
    """Return the tools; a model that may not call any is not shown them."""
    if not request.tools or not request.may_call:
        return None
    return [_render_tool(tool) for tool in request.tools]


def _render(message: messages.Message) -> Iterator[JsonObject]:
    match message:
        case messages.UserMessage():
            yield {"role": "user", "content": message.text}
        case messages.AssistantMessage():
            turn: JsonObject = {"role": "assistant", "content": message.text}
            if message.calls:
                turn["tool_calls"] = [
                    {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in message.calls
                ]
            for part in message.parts:
                if isinstance(part, messages.Opaque) and part.provider == PROVIDER:
                    turn.update(part.data)
            yield turn
        case messages.ToolMessage():
            for result in message.results:
                words = result.text if result.ok else f"Error: {result.text}"
                yield {"role": "tool", "content": words, "tool_name": result.call.name}


def _render_tool(tool: messages.ToolOffer) -> JsonObject:
    parameters = tool.parameters
    properties = mapping_of(parameters["properties"])
    shown: JsonObject = {
        "type": "object",
        "properties": {name: _render_property(mapping_of(schema)) for name, schema in properties.items()},
        "required": parameters.get("required", []),
    }
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": shown}}


def _render_property(schema: Mapping[str, Json]) -> JsonObject:
    """Reduce a schema to what the SDK lets through: type, items, description and enum. The rest becomes words."""
    types: list[Json] = list(dict.fromkeys(_types(schema)))
    shown: JsonObject = {"type": types[0] if len(types) == 1 else types} if types else {}
    if "enum" in schema:
        shown["enum"] = schema["enum"]
    if "items" in schema:
        shown["items"] = schema["items"]
    rest = {key: value for key, value in schema.items() if key not in _KEPT}
    words = [str(schema["description"])] if schema.get("description") else []
    if schema.get("default") is not None:
        words.append(f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
    if rest and not (set(rest) == {"anyOf"} and types):
        words.append(json.dumps(rest, ensure_ascii=False, default=str)[:_DETAILS])
    if words:
        shown["description"] = " ".join(words)
    return shown


def _types(schema: Mapping[str, Json]) -> Iterator[str]:
    own = schema.get("type")
    yield from map(str, own if isinstance(own, list) else [own] if own else [])
    for branch in list_of(schema.get("anyOf")):
        yield from _types(mapping_of(branch))


class TurnReader:
    def __init__(self) -> None:
        self._thinking: list[str] = []

    def read(self, part: ChatResponse) -> Iterator[messages.Piece]:
        message = part.message
        if message.thinking:
            self._thinking.append(message.thinking)
        if message.content:
            yield messages.Text(message.content)
        for call in message.tool_calls or ():
            arguments, problem = check_arguments(dict(call.function.arguments))
            yield messages.ToolCall("", call.function.name, arguments, problem)
        if part.done:
            if self._thinking:
                yield messages.Opaque(PROVIDER, {"thinking": "".join(self._thinking)})
            yield messages.Spent(_count(part.prompt_eval_count), _count(part.eval_count))
            yield messages.Stopped("length" if part.done_reason == "length" else "done")


def _count(number: int | None) -> int:
    return max(number or 0, 0)
