"""Models that a call asks: one at the pace of its key, or that of the connected client (MCP's sampling)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from http import HTTPStatus

from mcp_core.json_types import Json, JsonObject
from ot.ai.messages import AssistantMessage, Model, Piece, Request, Stopped, Text, UserMessage
from ot.clients.front import SAMPLE, Front, FrontError
from ot.context import CallContext
from ot.errors import ModelRefusedError, ModelUnavailableError
from ot.limits import PersonLimits
from ot.services.rate_limits import QueueTooLongError, RateLimit, Turn


class PacedModel:
    """Takes a turn for every request. One that was too much is asked again, as long as there is time.

    `left` are the seconds that the call still has, `limits` what the person may spend.
    """

    def __init__(
        self,
        model: Model,
        pace: RateLimit,
        *,
        rate: float,
        left: Callable[[], float],
        limits: PersonLimits | None = None,
    ) -> None:
        self.provider = model.provider
        self.name = model.name
        self._model = model
        self._pace = pace
        self._rate = rate
        self._left = left
        self._limits = limits

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        while True:
            turn = await self._take_turn()
            if self._limits is not None:
                await self._limits.ask_model(self.provider)
            try:
                async with aclosing(self._model.stream(request)) as pieces:
                    async for piece in pieces:
                        yield piece
            except ModelUnavailableError as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                    raise
                wait = self._pace.put_off(turn, error.retry_after)
                if wait > self._left():
                    error.retry_after = wait  # which is more than anybody waits for
                    raise
            else:
                self._pace.go_on()
                return

    async def _take_turn(self) -> Turn:
        try:
            return await self._pace.take_turn(1 / self._rate, within=self._left())
        except QueueTooLongError as error:
            reason = f"calls with the same key are queued, at {self._rate:g} a second"
            raise ModelUnavailableError(
                self.provider, reason, retry_after=error.wait, status=HTTPStatus.TOO_MANY_REQUESTS
            ) from error

    async def close(self) -> None:
        await self._model.close()


CLIENT = "client"
_ROLES = {UserMessage: "user", AssistantMessage: "assistant"}


class ClientModel:
    """Whichever model the client chooses; it says nothing of tokens. The call's clock stands still meanwhile."""

    provider = CLIENT

    def __init__(self, front: Front, context: CallContext, wanted: str | None) -> None:
        self.name = wanted or ""
        self._front = front
        self._context = context

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        params: JsonObject = {
            "messages": [
                {"role": _ROLES[type(message)], "content": {"type": "text", "text": message.text}}
                for message in request.messages
                if isinstance(message, UserMessage | AssistantMessage)
            ],
            "systemPrompt": request.system,
            "maxTokens": request.max_tokens,
        }
        if self.name:
            params["modelPreferences"] = {"hints": [{"name": self.name}]}
        try:
            with self._context.held():
                answer = await self._front.request(SAMPLE, params, "")
        except FrontError as error:
            raise ModelRefusedError(CLIENT, str(error)) from error
        yield Text(_words_of(answer.get("content")))
        yield Stopped("length" if answer.get("stopReason") == "maxTokens" else "done")

    async def close(self) -> None:
        """Do nothing: the connection is the client's own."""


def _words_of(content: Json) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "".join(text for text in texts if isinstance(text, str))
