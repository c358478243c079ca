"""The one way to call a service: its key, its rate, time, repetition, and errors that say what to do."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import httpx2

from mcp_core.json_types import Json
from ot.context import CallContext, current
from ot.errors import (
    CallError,
    MissingSecretError,
    ServiceAnswerError,
    ServiceUnavailableError,
)
from ot.logs import write_log
from ot.services.rate_limits import RateLimit, RateLimits
from ot.services.trusted_roots import trusted_roots
from ot_packs.net.client import AGENT, Answer, AnswerTooLargeError, ask
from ot_packs.net.repeating import PassingError, Repetition, TooMuchError, require_success
from ot_packs.net.services import Service, ServiceOptions, check_key, nonsense, read_json, read_service_options, refusal

Read = TypeVar("Read")
Params = Mapping[str, str | int | float | bool | None]

_LARGEST_ANSWER = 20_000_000  # bytes
_CONNECT = 10.0  # seconds


class ServiceClient:
    """Calls a service for one call of a tool, and is closed with it, so that no connection stays."""

    def __init__(
        self, service: Service, options: ServiceOptions, http: httpx2.AsyncClient, pace: RateLimit, context: CallContext
    ) -> None:
        self._service = service
        self._options = options
        self._http = http
        self._repetition = Repetition(service.name, pace, options.rate, context, rate_key=f"packs.{service.pack}.rate")

    async def get(self, path: str, params: Params | None = None) -> Json:
        """Ask for a value; raises CallError."""
        return await self._call("GET", path, self._read_json, params=params)

    async def get_text(self, path: str, params: Params | None = None) -> str:
        """Ask for a text; raises CallError."""
        return await self._call("GET", path, _read_text, params=params)

    async def post(self, path: str, body: Mapping[str, object], *, repeatable: bool) -> Json:
        """Send a value, and return the one that comes back; raises CallError.

        A request that begins something is not `repeatable`: it is sent again only if it certainly had no effect.
        """
        return await self._call("POST", path, self._read_json, body=body, repeatable=repeatable)

    async def delete(self, path: str) -> str:
        """End something at the service; raises CallError."""
        return await self._call("DELETE", path, _read_text)

    async def end(self, path: str) -> None:
        """Ask the service, once and at once, to end what a cancelled call began; a failure is logged."""
        try:
            await self._attempt("DELETE", f"{self._options.base_url}/{path}", None, _read_text)
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
        """Make a request, as often as it takes and within the time of the call."""
        url = _written(f"{self._options.base_url}/{path}", params or {})
        content = json.dumps(body).encode() if body is not None else None
        return await self._repetition.repeat(lambda: self._attempt(method, url, content, read), repeatable=repeatable)

    async def _attempt(self, method: str, url: str, content: bytes | None, read: Callable[[Answer], Read]) -> Read:
        """Make a request once, and read its answer."""
        kind = {"content-type": "application/json"} if content is not None else {}
        try:
            answer = await ask(self._http, method, url, limit=_LARGEST_ANSWER, headers=kind, content=content)
        except AnswerTooLargeError as error:
            raise nonsense(self._service, f"more than {_LARGEST_ANSWER:,} bytes") from error
        except ServiceUnavailableError as error:
            arrived = not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise PassingError(error, begun=arrived) from error
        require_success(answer, partial(refusal, self._service))
        try:
            return read(answer)
        except ServiceAnswerError as error:
            raise PassingError(error) from error

    def _read_json(self, answer: Answer) -> Json:
        return read_json(self._service, answer)


@asynccontextmanager
async def open_service(service: Service) -> AsyncIterator[ServiceClient]:
    """Open the way to a service for the current call; raises CallError if its key is missing."""
    context = current()
    options = read_service_options(service, context.config)
    key = _find_key(service, context)
    headers = {"user-agent": AGENT, "accept": "application/json"}
    if key:
        headers[service.header] = service.scheme + key
    pace = context.part(RateLimits).pace_of(service.pack, key)
    # Redirects are not followed: the key is for this service.
    timeout = httpx2.Timeout(service.patience, connect=_CONNECT)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, verify=trusted_roots()) as http:
        yield ServiceClient(service, options, http, pace, context)


def _find_key(service: Service, context: CallContext) -> str:
    try:
        key = context.secret(service.secret)
    except MissingSecretError as error:
        if not service.key_required:
            return ""
        raise MissingSecretError(service.secret, service.page) from error
    check_key(key, service.name, service.secret, service.page)
    return key


def _written(url: str, params: Params) -> str:
    """Return an address with its parameters; those that are None are left out."""
    given = {name: value for name, value in params.items() if value is not None}
    return str(httpx2.URL(url, params=given)) if given else url


def _read_text(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")
