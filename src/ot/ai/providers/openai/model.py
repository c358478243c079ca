"""A model behind OpenAI's chat API, over the HTTP client of the base install: requests in its form, its stream read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Literal

import httpx2

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from mcp_core.quick_dataclass import dataclass
from ot.ai import messages
from ot.ai.providers.answers import CUT_OFF, UNKNOWN_MODEL, UNPAID, brief, failure_of, read_arguments
from ot.ai.providers.chat_form import render_conversation
from ot.ai.providers.openai import OpenaiSettings
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

PROVIDER = "openai"
_STOPS: dict[str, Literal["length", "refused"]] = {"length": "length", "content_filter": "refused"}
_ADDRESS = "https://api.openai.com/v1"
_CONNECT = 10.0  # seconds
_DONE = "[DONE]"
_NO_CREDIT = "insufficient_quota"  # told with the status of a rate that was passed, though no wait helps
_LONGEST_REASON = 20_000  # bytes


def render_request(request: messages.Request, model: str, *, limit_name: str) -> JsonObject:
    """Return the body of a request; `limit_name` is what the server calls the limit of tokens."""
    rendered: JsonObject = {
        "model": model,
        "messages": [*render_conversation(request, _render_turn, lambda result: {"tool_call_id": result.call.id})],
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


def _render_turn(message: messages.AssistantMessage) -> JsonObject:
    calls = ((call, json.dumps(dict(call.arguments), ensure_ascii=False)) for call in message.calls)
    rendered: list[Json] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
        for call, arguments in calls
    ]
    return {"tool_calls": rendered} if rendered else {}


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


class OpenaiModel:
    provider = PROVIDER

    def __init__(self, settings: OpenaiSettings, *, api_key: str, timeout: float) -> None:
        self.name = settings.model
        self._url = f"{(settings.base_url or _ADDRESS).rstrip('/')}/chat/completions"
        # OpenAI has renamed the limit, and refuses its old name; others know the old name only.
        self._limit_name = "max_completion_tokens" if self._url.startswith(_ADDRESS) else "max_tokens"
        self._client = httpx2.AsyncClient(
            headers={"content-type": "application/json"} | ({"authorization": f"Bearer {api_key}"} if api_key else {}),
            timeout=httpx2.Timeout(timeout, connect=_CONNECT),
            verify=trusted_roots(),
        )

    async def stream(self, request: messages.Request) -> AsyncGenerator[messages.Piece]:
        # Escaped, since a text may hold half of a pair that UTF-8 cannot write.
        body = json.dumps(render_request(request, self.name, limit_name=self._limit_name)).encode()
        reader = TurnReader()
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                if response.status_code != 200:
                    raise await self._explain(response)
                async for event in httpx2.EventSource(response):
                    if event.data.strip() == _DONE:
                        break
                    for piece in reader.read(_read_chunk(event.data)):
                        yield piece
                for piece in reader.end():  # also where a server leaves out that it is done
                    yield piece
        except httpx2.ConnectError as error:
            raise ModelUnavailableError(PROVIDER, brief(f"cannot connect to {self._url}: {error}")) from error
        except httpx2.SSEError as error:
            raise ModelUnavailableError(
                PROVIDER, brief(f"{self._url} does not answer with a stream: {error}")
            ) from error
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise ModelRefusedError(PROVIDER, brief(f"{self._url}: {error}")) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ModelUnavailableError(PROVIDER, f"the answer broke off ({type(error).__name__})") from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _explain(self, response: httpx2.Response) -> ModelError:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _LONGEST_REASON:
                break
        reason, code = _reason_of(bytes(body))
        status = UNPAID if code == _NO_CREDIT else response.status_code
        if status == UNKNOWN_MODEL:
            reason = f"{reason}; check ai.openai.model and ai.openai.base_url"
        return failure_of(PROVIDER, status, reason or response.reason_phrase, response.headers)


open_model = OpenaiModel  # the name by which a provider's model is found


def _read_chunk(data: str) -> Json:
    try:
        chunk: Json = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelUnavailableError(PROVIDER, "the answer cannot be read: it is not JSON, or breaks off") from error
    if isinstance(chunk, dict) and chunk.get("error"):
        raise ModelUnavailableError(PROVIDER, brief(_words_of(chunk["error"])[0]))  # told in the middle of a stream
    return chunk


def _reason_of(body: bytes) -> tuple[str, str]:
    """Return what a server says of its refusal, and its code for that."""
    text = body.decode("utf-8", "replace")
    try:
        told: Json = json.loads(text)
    except (ValueError, RecursionError):
        return ("" if text.lstrip().startswith("<") else text), ""  # a page for people says nothing in a line
    return _words_of(told.get("error", told) if isinstance(told, dict) else told)


def _words_of(error: Json) -> tuple[str, str]:
    if not isinstance(error, dict):
        return str(error), ""
    return str(error.get("message") or error.get("detail") or error), str(error.get("code") or "")
