"""A model that is asked at the pace of its key: calls side by side wait for each other, and for what it asks for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from http import HTTPStatus

from ot.ai.models.model import Model, Piece, Request
from ot.errors import ModelUnavailableError
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
