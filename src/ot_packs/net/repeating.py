"""Requests that are made as often as it takes: in turn with others, after pauses, within the time of the call."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

import anyio

from mcp_core.backoff import wait_after
from ot.context import CallContext
from ot.errors import CallError, RateLimitedError
from ot.services.rate_limits import QueueTooLongError, RateLimit, Turn
from ot.services.retry_after import read_seconds, read_wait
from ot_packs.net.client import Answer
from ot_packs.net.services import is_passing, reason_of
from ot_packs.net.values import items_of, text_of


def seconds_to_wait(
    headers: Mapping[str, str], body: bytes = b"", clock: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds that the headers, or the body, ask for; None if they say nothing."""
    asked = read_wait(headers, clock)
    return asked if asked is not None else _in_details(body, clock)


def _in_details(body: bytes, clock: Callable[[], float]) -> float | None:
    """Read the `retryDelay` among the details of an error, where services of Google say it: "34.5s"."""
    if b"retryDelay" not in body:
        return None
    try:
        details = items_of(json.loads(body), "error", "details")
    except (ValueError, RecursionError):
        return None
    asked = [read_seconds(text_of(detail, "retryDelay").removesuffix("s"), clock) for detail in details]
    return max((seconds for seconds in asked if seconds is not None), default=None)


Read = TypeVar("Read")

_MOST_REPETITIONS = 3
_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 10.0


class TooMuchError(Exception):
    """The service says that this was one request too many; `asked` is how long it asks to wait."""

    def __init__(self, reason: str, asked: float | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.asked = asked


class PassingError(Exception):
    """A failure that may be over soon. With `begun` the service may have acted on the request all the same."""

    def __init__(self, error: CallError, *, begun: bool = True, asked: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.begun = begun
        self.asked = asked


class Repetition:
    """The patience of one call with one service; `rate` is in requests a second, and `rate_key` the option for it."""

    def __init__(self, service: str, pace: RateLimit, rate: float, context: CallContext, *, rate_key: str) -> None:
        self._service = service
        self._pace = pace
        self._rate = rate
        self._context = context
        self._rate_key = rate_key

    async def repeat(self, attempt: Callable[[], Awaitable[Read]], *, repeatable: bool = True) -> Read:
        """Return what an attempt returns; one that raises TooMuchError or PassingError is made again; raises CallError.

        What is not `repeatable` is attempted again only if it certainly had no effect.
        """
        failures = 0
        while True:
            turn = await self._take_turn()
            try:
                value = await attempt()
            except TooMuchError as error:
                wait = self._pace.put_off(turn, error.asked)
                if wait > self._context.remaining():
                    raise self._too_many(error.reason, wait) from error
                continue
            except PassingError as error:
                failure = error
            else:
                self._pace.go_on()
                return value
            failures += 1
            wait = _pause_after(failures) if failure.asked is None else failure.asked
            last = failures > _MOST_REPETITIONS or (failure.begun and not repeatable)
            if last or wait > self._context.remaining():
                raise failure.error
            await anyio.sleep(wait)

    async def _take_turn(self) -> Turn:
        try:
            return await self._pace.take_turn(1 / self._rate, within=self._context.remaining())
        except QueueTooLongError as error:
            reason = f"calls with the same key are queued, at {self._rate:g} a second"
            raise self._too_many(reason, error.wait) from error

    def _too_many(self, reason: str, wait: float) -> RateLimitedError:
        return RateLimitedError(self._service, reason, wait, self._rate_key)


def require_success(answer: Answer, refusal: Callable[[Answer], CallError]) -> None:
    """Raise what `Repetition` repeats for an answer that may be better soon, or else its refusal."""
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise TooMuchError(reason_of(answer), seconds_to_wait(answer.headers, answer.body))
    if is_passing(answer):
        raise PassingError(refusal(answer), asked=seconds_to_wait(answer.headers, answer.body))
    if answer.status // 100 != 2:
        raise refusal(answer)


def _pause_after(failures: int) -> float:
    return wait_after(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=0.5)
