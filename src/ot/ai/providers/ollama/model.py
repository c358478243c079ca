"""A model behind Ollama's chat API. Importing this loads the SDK.

The SDK splits the stream where Python's `splitlines` does, which is also at three characters that may stand in a JSON
string as they are. Written as escapes they mean the same, and the text arrives whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import ollama
from pydantic import ValidationError

from mcp_core.json_types import JsonObject
from ot.ai.messages import Piece, Request, Stopped
from ot.ai.providers.answers import UNKNOWN_MODEL, brief, failure_of
from ot.ai.providers.ollama import OllamaSettings
from ot.ai.providers.ollama.form import PROVIDER, TurnReader, render_messages, render_tools
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

_BREAKING = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\x85\u2028\u2029"}
_LONGEST = max(map(len, _BREAKING))
_CONNECT = 10.0  # seconds
_UNREADABLE = (ValidationError, json.JSONDecodeError, AttributeError, TypeError)
"""Errors of the SDK for a part of a stream that cannot be read."""


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

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
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
                        if isinstance(piece, Stopped):
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
