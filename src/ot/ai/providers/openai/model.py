"""A model behind OpenAI's chat API, over the HTTP client of the base install."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import httpx2

from mcp_core.json_types import Json
from ot.ai.messages import Piece, Request
from ot.ai.providers.answers import UNKNOWN_MODEL, UNPAID, brief, failure_of
from ot.ai.providers.openai import OpenaiSettings
from ot.ai.providers.openai.form import PROVIDER, TurnReader, render_request
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

_ADDRESS = "https://api.openai.com/v1"
_CONNECT = 10.0  # seconds
_DONE = "[DONE]"
_NO_CREDIT = "insufficient_quota"  # told with the status of a rate that was passed, though no wait helps
_LONGEST_REASON = 20_000  # bytes


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

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
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
