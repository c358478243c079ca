"""Asking registries: with the person's token at its own address and nowhere else, patiently, within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from urllib.parse import urljoin

import anyio
import httpx2

from ot.context import CallContext, current
from ot.errors import CallError, ServiceUnavailableError, ToolError
from ot.services.rate_limits import RateLimits
from ot.services.trusted_roots import trusted_roots
from ot.text.redaction import Redactor
from ot_packs.helper_results import Result, call_helper
from ot_packs.net.addresses import read_allowed
from ot_packs.net.calling import PassingError, Repetition, require_success
from ot_packs.net.client import AGENT, Answer, AnswerTooLargeError, GuardedClient, ask
from ot_packs.net.services import is_passing, read_rate, reason_of
from ot_packs.package.registries import Registry, is_public, origin_of

_LARGEST = 50_000_000  # bytes of an answer, unpacked
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)


class RegistryClient:
    """Asks registries for one call of a tool, and has their answers read in a helper process."""

    def __init__(self, context: CallContext, own: httpx2.AsyncClient, guarded: GuardedClient) -> None:
        self._context, self._own, self._guarded = context, own, guarded
        self._reading = anyio.CapacityLimiter(2)

    async def get(self, registry: Registry, url: str, *, accept: str = "*/*") -> Answer | None:
        """Return an answer of success, None where there is nothing; raises CallError."""
        rate = read_rate("package", self._context.config, 20.0)  # requests a second to one registry
        if not registry.authorization.isascii() or not registry.authorization.isprintable():
            raise ToolError(f"the token in {registry.token_source} contains non-ASCII characters, and was not sent")
        for secret in registry.secrets():
            self._context.part(Redactor).learn(secret)
        pace = self._context.part(RateLimits).pace_of("package", registry.origin)
        repetition = Repetition(registry.url, pace, rate, self._context, rate_key="packs.package.rate")
        return await repetition.repeat(lambda: self._attempt(registry, url, accept))

    async def read(self, function: str, result: type[Result], **arguments: object) -> Result:
        """Have a function of reading.py called in a helper process, which has no files and no network."""
        async with self._reading:
            return await call_helper("package", "ot_packs.package.reading", function, arguments, result)

    async def _attempt(self, registry: Registry, url: str, accept: str) -> Answer | None:
        try:
            answer = await self._follow(registry, url, accept)
        except AnswerTooLargeError as error:
            raise ToolError(f"{registry.url} returned more than {_LARGEST:,} bytes for one package") from error
        except ServiceUnavailableError as error:
            raise PassingError(error) from error
        if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return None
        require_success(answer, partial(refusal, registry))
        if answer.status != HTTPStatus.OK:
            raise refusal(registry, answer)
        return answer

    async def _follow(self, registry: Registry, url: str, accept: str) -> Answer:
        """Ask, and ask again where a redirect leads; what leaves the registry is guarded, and gets no token."""
        for _ in range(5):
            at_home = origin_of(url) == registry.origin
            token = {"authorization": registry.authorization} if at_home and registry.authorization else {}
            client = self._own if at_home or is_public("pypi", url) else self._guarded
            answer = await ask(client, "GET", url, limit=_LARGEST, headers={"accept": accept, **token})
            target = answer.headers.get("location", "")
            if answer.status // 100 != 3 or not target:
                return answer
            url = urljoin(url, target)
        raise ToolError(f"{registry.url} has too many redirects")


def refusal(registry: Registry, answer: Answer) -> CallError:
    """Return the error for an answer that is no success, with the file that holds the token."""
    reason = reason_of(answer)
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        named = f", which {registry.source} names," if registry.source else ""
        if registry.authorization:
            way = f"The token in {registry.token_source} is not accepted, or not for this package."
        elif registry.token_source:
            way = f"There is no token for it: look at {registry.token_source}."
        else:
            way = "There is no token for it: pip takes one from ~/.netrc or the address, npm from ~/.npmrc (npm login)."
        return ToolError(f"{registry.url}{named} refuses to answer ({answer.status}: {reason}). {way}")
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_passing(answer):
        return ServiceUnavailableError("", f"{registry.url} answers {answer.status}: {reason}")
    return ToolError(f"{registry.url} answers with status {answer.status}: {reason}")


@asynccontextmanager
async def open_registries() -> AsyncIterator[RegistryClient]:
    """Open the way to registries for the current call; nothing is open when it ends."""
    context = current()
    allowed = read_allowed("package", context.config)
    headers = {"user-agent": AGENT}
    # The person has named these addresses, so they may lie in their network, or behind their proxy.
    own = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, verify=trusted_roots())
    async with own, GuardedClient(allowed) as guarded:
        guarded.follow_redirects = False
        yield RegistryClient(context, own, guarded)
