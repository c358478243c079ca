"""Claude behind its Messages API. Importing this loads the SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import httpx2

from ot.ai.messages import Piece, Request, Stopped
from ot.ai.providers.answers import UNKNOWN_MODEL, brief, failure_of
from ot.ai.providers.anthropic import AnthropicSettings
from ot.ai.providers.anthropic.form import PROVIDER, TurnReader, render_request
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.trusted_roots import trusted_roots

_CONNECT = 10.0  # seconds
_PASSING = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
_BROKEN = (httpx2.HTTPError, httpx2.StreamError, ValueError, AttributeError, TypeError)
"""Errors that the SDK lets through if a stream breaks off or cannot be read: its transport's and its parser's."""


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

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        reader = TurnReader()
        messages: Any = self._client.messages
        try:
            async with await messages.create(**render_request(request, self.name), stream=True) as events:
                async for event in events:
                    for piece in reader.read(event):
                        yield piece
                        if isinstance(piece, Stopped):
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
