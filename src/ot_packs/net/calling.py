"""The one way to call a service: its key, its rate, time, repetition, and errors that say what to do."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TypeVar

import anyio
import httpx2

from mcp_core.backoff import wait_after
from mcp_core.facts_error import FactsError
from mcp_core.json_types import Json
from ot.context import CallContext, current
from ot.errors import CallError, MissingSecretError, RateLimitedError, ServiceAnswerError, ServiceUnavailableError
from ot.logs import write_log
from ot.services.rate_limits import QueueTooLongError, RateLimit, RateLimits, Turn
from ot.services.retry_after import read_seconds, read_wait
from ot.services.trusted_roots import trusted_roots
from ot_packs.net import services
from ot_packs.net.client import AGENT, Answer, AnswerTooLargeError, ask
from ot_packs.net.values import items_of, text_of

Read = TypeVar("Read")
Params = Mapping[str, str | int | float | bool | None]
_LARGEST_ANSWER = 20_000_000  # bytes


def seconds_to_wait(
    headers: Mapping[str, str], body: bytes = b"", clock: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds that the headers, or the body, ask for; None if they say nothing."""
    asked = read_wait(headers, clock)
    if asked is not None or b"retryDelay" not in body:
        return asked
    try:  # services of Google say it among the details of an error: "34.5s"
        details = items_of(json.loads(body), "error", "details")
    except (ValueError, RecursionError):
        return None
    delays = [read_seconds(text_of(detail, "retryDelay").removesuffix("s"), clock) for detail in details]
    return max((seconds for seconds in delays if seconds is not None), default=None)


class TooMuchError(FactsError):
    """The service says that this was one request too many; `asked` is how long it asks to wait."""

    reason: str
    asked: float | None


class PassingError(FactsError):
    """A failure that may be over soon. With `begun` the service may have acted on the request all the same."""

    error: CallError
    begun: bool = True
    asked: float | None = None


class Repetition:
    """The patience of one call with one service; `rate` is in requests a second, and `rate_key` the option for it."""

    def __init__(self, service: str, pace: RateLimit, rate: float, context: CallContext, *, rate_key: str) -> None:
        self._service, self._pace, self._rate = service, pace, rate
        self._context, self._rate_key = context, rate_key

    async def repeat(self, attempt: Callable[[], Awaitable[Read]], *, repeatable: bool = True) -> Read:
        """Return what an attempt returns; after a TooMuchError or PassingError it is made again; raises CallError."""
        # What is not `repeatable` is attempted again only if it certainly had no effect.
        failures = 0
        turn: Turn | None = None
        while True:
            turn = await self._take_turn(turn)
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
            pause = wait_after(failures, first=0.5, longest=10.0, spread=0.5)
            wait = pause if failure.asked is None else failure.asked
            last = failures > 3 or (failure.begun and not repeatable)
            if last or wait > self._context.remaining():
                raise failure.error
            await anyio.sleep(wait)

    async def _take_turn(self, refused: Turn | None) -> Turn:
        try:
            return await self._pace.take_turn(1 / self._rate, within=self._context.remaining(), refused=refused)
        except QueueTooLongError as error:
            reason = f"calls with the same key are queued, at {self._rate:g} a second"
            raise self._too_many(reason, error.wait) from error

    def _too_many(self, reason: str, wait: float) -> RateLimitedError:
        return RateLimitedError(self._service, reason, wait, self._rate_key)


def require_success(answer: Answer, refusal: Callable[[Answer], CallError]) -> None:
    """Raise what `Repetition` repeats for an answer that may be better soon, or else its refusal."""
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise TooMuchError(services.reason_of(answer), seconds_to_wait(answer.headers, answer.body))
    if services.is_passing(answer):
        raise PassingError(refusal(answer), asked=seconds_to_wait(answer.headers, answer.body))
    if answer.status // 100 != 2:
        raise refusal(answer)


class ServiceClient:
    """Calls a service for one call of a tool, and is closed with it, so that no connection stays."""

    def __init__(
        self, service: services.Service, http: httpx2.AsyncClient, pace: RateLimit, context: CallContext
    ) -> None:
        self._service = service
        self._base_url = services.read_base_url(service, context.config)
        self._http = http
        rate = services.read_rate(service.pack, context.config, service.rate)
        self._repetition = Repetition(service.name, pace, rate, context, rate_key=f"packs.{service.pack}.rate")
        self._read_json = partial(services.read_json, service)

    async def get(self, path: str, params: Params | None = None) -> Json:
        """Ask for a value; raises CallError. Parameters that are None are left out."""
        return await self._call("GET", path, self._read_json, params=params)

    async def get_text(self, path: str, params: Params | None = None) -> str:
        return await self._call("GET", path, _read_text, params=params)

    async def post(self, path: str, body: Mapping[str, object], *, repeatable: bool) -> Json:
        """Send a value, and return the one that comes back; raises CallError."""
        # A request that begins something is not `repeatable`: it is sent again only if it certainly had no effect.
        return await self._call("POST", path, self._read_json, body=body, repeatable=repeatable)

    async def delete(self, path: str) -> str:
        return await self._call("DELETE", path, _read_text)

    async def end(self, path: str) -> None:
        """Ask the service, once and at once, to end what a cancelled call began; a failure is logged."""
        try:
            await self._attempt("DELETE", f"{self._base_url}/{path}", None, _read_text)
        except (CallError, TooMuchError, PassingError) as error:
            write_log(logging.WARNING, "service.end", service=self._service.name, path=path, detail=str(error)[:300])

    async def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Answer], Read],
        *,
        params: Params | None = None,
        body: Mapping[str, object] | None = None,
        repeatable: bool = True,
    ) -> Read:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        url = str(httpx2.URL(f"{self._base_url}/{path}", params=given)) if given else f"{self._base_url}/{path}"
        content = json.dumps(body).encode() if body is not None else None
        return await self._repetition.repeat(lambda: self._attempt(method, url, content, read), repeatable=repeatable)

    async def _attempt(self, method: str, url: str, content: bytes | None, read: Callable[[Answer], Read]) -> Read:
        kind = {"content-type": "application/json"} if content is not None else {}
        try:
            answer = await ask(self._http, method, url, limit=_LARGEST_ANSWER, headers=kind, content=content)
        except AnswerTooLargeError as error:
            raise services.nonsense(self._service, f"more than {_LARGEST_ANSWER:,} bytes") from error
        except ServiceUnavailableError as error:
            arrived = not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise PassingError(error, begun=arrived) from error
        require_success(answer, partial(services.refusal, self._service))
        try:
            return read(answer)
        except ServiceAnswerError as error:
            raise PassingError(error) from error


@asynccontextmanager
async def open_service(service: services.Service) -> AsyncIterator[ServiceClient]:
    """Open the way to a service for the current call; raises CallError if its key is missing."""
    context = current()
    try:
        key = context.secret(service.secret)
        services.check_key(key, service.name, service.secret, service.page)
    except MissingSecretError as error:
        if service.key_required:
            raise MissingSecretError(service.secret, service.page) from error
        key = ""
    headers = {"user-agent": AGENT, "accept": "application/json"}
    if key:
        headers[service.header] = service.scheme + key
    pace = context.part(RateLimits).pace_of(service.pack, key)
    # Redirects are not followed: the key is for this service.
    timeout = httpx2.Timeout(service.patience, connect=10.0)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, verify=trusted_roots()) as http:
        yield ServiceClient(service, http, pace, context)


def _read_text(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")
