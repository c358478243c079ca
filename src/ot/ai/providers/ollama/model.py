"""A model behind Ollama's chat API: requests in its form, its stream read. Importing this loads the SDK.

The SDK splits the stream where Python's `splitlines` does, which is also at three characters that may stand in a JSON
string as they are. Written as escapes they mean the same, and the text arrives whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
import ollama
from pydantic import ValidationError

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from ot.ai import messages
from ot.ai.providers.answers import UNKNOWN_MODEL, brief, check_arguments, failure_of
from ot.ai.providers.chat_form import render_conversation
from ot.ai.providers.ollama import OllamaSettings
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

PROVIDER = "ollama"
_KEPT = frozenset({"type", "enum", "items", "description", "title", "default"})
_DETAILS = 400  # characters of a schema that go into a description
_BREAKING = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\x85\u2028\u2029"}
_LONGEST = max(map(len, _BREAKING))
_CONNECT = 10.0  # seconds
_UNREADABLE = (ValidationError, json.JSONDecodeError, AttributeError, TypeError)
"""Errors of the SDK for a part of a stream that cannot be read."""


def render_messages(request: messages.Request) -> list[JsonObject]:
    """Return the conversation; results stand in the order of their calls, since Ollama has no ids."""
    return list(render_conversation(request, _render_turn, lambda result: {"tool_name": result.call.name}))


def render_tools(request: messages.Request) -> list[JsonObject] | None:
    """Return the tools; a model that may not call any is not shown them."""
    if not request.tools or not request.may_call:
        return None
    return [_render_tool(tool) for tool in request.tools]


def _render_turn(message: messages.AssistantMessage) -> JsonObject:
    turn: JsonObject = {}
    if message.calls:
        turn["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in message.calls
        ]
    for part in message.parts:
        if isinstance(part, messages.Opaque) and part.provider == PROVIDER:
            turn.update(part.data)
    return turn


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

    def read(self, part: ollama.ChatResponse) -> Iterator[messages.Piece]:
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


async def without_breaks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same JSON without such characters; the chunks may end inside one."""
    held = b""
    async for chunk in chunks:
        data = held + chunk
        cut = len(data) - _unfinished(data)
        data, held = data[:cut], data[cut:]
        for raw, escape in _BREAKING.items():
            data = data.replace(raw, escape)
        if data:
            yield data
    if held:
        yield held


def _unfinished(data: bytes) -> int:
    """Return how many bytes at the end may be the beginning of such a character."""
    for count in range(_LONGEST - 1, 0, -1):
        tail = data[-count:]
        if len(tail) == count and any(raw.startswith(tail) and raw != tail for raw in _BREAKING):
            return count
    return 0


class OllamaModel:
    provider = PROVIDER

    def __init__(self, settings: OllamaSettings, *, api_key: str, timeout: float) -> None:
        self.name = settings.model
        self._options: JsonObject = {"num_ctx": settings.context} if settings.context else {}
        self._client: Any = ollama.AsyncClient(
            settings.host,
            headers={"authorization": f"Bearer {api_key}"} if api_key else None,
            timeout=httpx.Timeout(timeout, connect=_CONNECT),
            verify=trusted_roots(),
            event_hooks={"response": [_split_at_newlines_only]},
        )

    async def stream(self, request: messages.Request) -> AsyncGenerator[messages.Piece]:
        reader = TurnReader()
        try:
            parts = await self._client.chat(
                model=self.name,
                messages=render_messages(request),
                tools=render_tools(request),
                options={"num_predict": request.max_tokens, **self._options},
                stream=True,
            )
            async with aclosing(parts):
                async for part in parts:
                    for piece in reader.read(part):
                        yield piece
                        if isinstance(piece, messages.Stopped):
                            return
        except ollama.ResponseError as error:
            raise self._explain(error) from error
        except ollama.RequestError as error:
            raise ModelRefusedError(PROVIDER, brief(str(error))) from error
        except httpx.ConnectError as error:
            reason = brief(f"cannot connect to {error.request.url}: {error}")
            raise ModelUnavailableError(PROVIDER, reason) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise ModelUnavailableError(PROVIDER, f"the answer broke off ({type(error).__name__})") from error
        except _UNREADABLE as error:
            raise ModelUnavailableError(PROVIDER, f"the answer cannot be read ({type(error).__name__})") from error

    async def close(self) -> None:
        await self._client.close()

    def _explain(self, error: ollama.ResponseError) -> ModelError:
        told: Any = error.error  # some servers that speak Ollama's language send an object
        reason = str(told.get("message", told)) if isinstance(told, dict) else str(told)
        status = error.status_code
        if status < 0:  # told in the middle of a stream
            return ModelUnavailableError(PROVIDER, brief(reason))
        if status == UNKNOWN_MODEL:
            reason = f"{reason}; run `ollama pull {self.name}` to download the model"
        # The SDK leaves the response out of its error; Python keeps the error from which that was made.
        response = getattr(error.__context__, "response", None)
        return failure_of(PROVIDER, status, reason, getattr(response, "headers", None))


open_model = OllamaModel  # the name by which a provider's model is found


class _Lines(httpx.AsyncByteStream):
    """The bytes of a response on their way to the SDK."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return without_breaks(aiter(self._stream))

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _split_at_newlines_only(response: httpx.Response) -> None:
    # What is compressed has no lines yet.
    plain = response.headers.get("content-encoding", "identity") == "identity"
    if plain and isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Lines(response.stream)
