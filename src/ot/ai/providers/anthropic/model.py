"""Claude behind its Messages API: requests in its form, its stream read. Importing this loads the SDK."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Literal

import anthropic
import httpx2

from mcp_core.json_types import Json, JsonObject
from ot.ai import messages
from ot.ai.providers.answers import CUT_OFF, UNKNOWN_MODEL, brief, failure_of, read_arguments
from ot.ai.providers.anthropic import AnthropicSettings
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

PROVIDER = "anthropic"
NOTHING = "[nothing]"  # the API takes no text without a visible character
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST_PICTURE = 3_500_000  # bytes; the API takes 5 MB of base64
_STOPS: dict[str, Literal["length", "refused"]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_CONNECT = 10.0  # seconds
_PASSING = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
_BROKEN = (httpx2.HTTPError, httpx2.StreamError, ValueError, AttributeError, TypeError)
"""Errors that the SDK lets through if a stream breaks off or cannot be read: its transport's and its parser's."""


def render_request(request: messages.Request, model: str) -> JsonObject:
    rendered: JsonObject = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [_render(message) for message in request.messages],
    }
    if request.goes_on:
        # Each round repeats everything before it: the provider keeps that, and reads it for a tenth of the price.
        rendered["cache_control"] = {"type": "ephemeral"}
    if request.system:
        rendered["system"] = request.system
    if request.tools:
        rendered["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
        if not request.may_call:
            rendered["tool_choice"] = {"type": "none"}
    return rendered


def _render(message: messages.Message) -> JsonObject:
    match message:
        case messages.UserMessage():
            return {"role": "user", "content": _words(message.text)}
        case messages.AssistantMessage():
            blocks: list[Json] = [block for part in message.parts for block in _render_part(part)]
            return {"role": "assistant", "content": blocks or [{"type": "text", "text": NOTHING}]}
        case messages.ToolMessage():
            return {"role": "user", "content": [_render_result(result) for result in message.results]}


def _render_part(part: messages.Part) -> Iterator[JsonObject]:
    match part:
        case messages.Text():
            if part.text.strip():
                yield {"type": "text", "text": part.text}
        case messages.ToolCall():
            yield {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.arguments)}
        case messages.Opaque():
            if part.provider == PROVIDER:
                yield dict(part.data)


def _render_result(result: messages.ToolResult) -> JsonObject:
    content: list[Json] = [{"type": "text", "text": _words(result.text)}]
    for image in result.images:
        if image.mime_type in _PICTURES and len(image.data) <= _LARGEST_PICTURE:
            data = base64.b64encode(image.data).decode()
            content.append({"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": data}})
    rendered: JsonObject = {"type": "tool_result", "tool_use_id": result.call.id, "content": content}
    return rendered if result.ok else {**rendered, "is_error": True}


def _words(text: str) -> str:
    return text if text.strip() else NOTHING


class TurnReader:
    """Reads the events of one stream, of which nothing is trusted to have the type it should."""

    def __init__(self) -> None:
        self._blocks: dict[int, JsonObject] = {}
        self._json: dict[int, list[str]] = {}
        self._calls: list[tuple[JsonObject, str]] = []
        self._spent = messages.Spent()
        self._stop = "end_turn"

    def read(self, event: Any) -> Iterator[messages.Piece]:
        match getattr(event, "type", None):
            case "message_start":
                yield self._count(getattr(event.message, "usage", None))
            case "content_block_start":
                yield from self._open(event)
            case "content_block_delta":
                yield from self._extend(event)
            case "content_block_stop":
                yield from self._finish(event.index)
            case "message_delta":
                self._stop = getattr(event.delta, "stop_reason", None) or self._stop
                yield self._count(getattr(event, "usage", None))
            case "message_stop":
                for index in list(self._blocks):  # a server that forgot to say that a block is over
                    yield from self._finish(index)
                yield from itertools.starmap(self._read_call, self._calls)
                yield messages.Stopped(_STOPS.get(str(self._stop), "done"))

    def _open(self, event: Any) -> Iterator[messages.Piece]:
        block = event.content_block
        kind = getattr(block, "type", None)
        if kind == "text":
            if text := _text(block, "text"):
                yield messages.Text(text)
        elif kind in ("tool_use", "thinking", "redacted_thinking"):
            self._blocks[event.index] = block.to_dict(warnings=False)
            self._json[event.index] = []

    def _extend(self, event: Any) -> Iterator[messages.Piece]:
        delta, block = event.delta, self._blocks.get(event.index)
        match getattr(delta, "type", None):
            case "text_delta":
                if text := _text(delta, "text"):
                    yield messages.Text(text)
            case "input_json_delta" if block is not None:
                self._json[event.index].append(_text(delta, "partial_json"))
            case "thinking_delta" if block is not None:
                block["thinking"] = f"{block.get('thinking') or ''}{_text(delta, 'thinking')}"
            case "signature_delta" if block is not None:
                block["signature"] = _text(delta, "signature")

    def _finish(self, index: int) -> Iterator[messages.Piece]:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block["type"] == "tool_use":
            # Why it may be incomplete is told later.
            self._calls.append((block, "".join(self._json.pop(index, ()))))
        elif block.get("signature") or block["type"] == "redacted_thinking":
            yield messages.Opaque(PROVIDER, block)

    def _read_call(self, block: Mapping[str, Json], written: str) -> messages.ToolCall:
        given = written if written.strip() else json.dumps(block.get("input") or {})
        arguments, problem = read_arguments(given)
        if problem and self._stop == "max_tokens":
            problem = CUT_OFF
        return messages.ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), arguments, problem)

    def _count(self, usage: object) -> messages.Spent:
        """Update the counts, which are running totals; what an event does not mention stays as it was."""
        known = self._spent
        self._spent = messages.Spent(
            _number(usage, "input_tokens", known.input_tokens),
            _number(usage, "output_tokens", known.output_tokens),
            _number(usage, "cache_read_input_tokens", known.cache_read_tokens),
            _number(usage, "cache_creation_input_tokens", known.cache_write_tokens),
        )
        return self._spent


def _text(value: object, name: str) -> str:
    text = getattr(value, name, None)
    return text if isinstance(text, str) else ""


def _number(usage: object, name: str, known: int) -> int:
    number = getattr(usage, name, None)
    return number if type(number) is int and number >= 0 else known


class AnthropicModel:
    provider = PROVIDER

    def __init__(self, settings: AnthropicSettings, *, api_key: str, timeout: float) -> None:
        self.name = settings.model
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=settings.base_url,
            max_retries=0,  # there is one place that retries, and it tells
            timeout=anthropic.Timeout(timeout, connect=_CONNECT),
            http_client=anthropic.DefaultAsyncHttpxClient(verify=trusted_roots()),
        )

    async def stream(self, request: messages.Request) -> AsyncGenerator[messages.Piece]:
        reader = TurnReader()
        client: Any = self._client.messages
        try:
            async with await client.create(**render_request(request, self.name), stream=True) as events:
                async for event in events:
                    for piece in reader.read(event):
                        yield piece
                        if isinstance(piece, messages.Stopped):
                            return
        except anthropic.APIError as error:
            raise _explain(error) from error
        except anthropic.AnthropicError as error:
            raise ModelRefusedError(PROVIDER, brief(str(error))) from error
        except _BROKEN as error:
            raise ModelUnavailableError(PROVIDER, f"the answer broke off ({type(error).__name__})") from error

    async def close(self) -> None:
        await self._client.close()


open_model = AnthropicModel  # the name by which a provider's model is found


def _explain(error: anthropic.APIError) -> ModelError:
    if isinstance(error, anthropic.APIStatusError):
        reason = error.api_message or error.message
        if error.type in _PASSING and error.status_code < 400:
            return ModelUnavailableError(PROVIDER, brief(reason))  # told in the middle of a stream
        if error.status_code == UNKNOWN_MODEL:
            reason = f"{reason}; check ai.anthropic.model and ai.anthropic.base_url"
        return failure_of(PROVIDER, error.status_code, reason, error.response.headers)
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return ModelUnavailableError(PROVIDER, brief(f"{error.message}{cause}"))
