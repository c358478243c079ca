"""Requests whose answers are read up to a size, and a client for the open internet.

It resolves names once, checks them, and connects to what was checked.

The check stands where connections are made, so that it holds after every redirect, and a name that resolves to another
address a moment later gains nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import anyio
import httpcore2
import httpx2

from mcp_core.distribution import DISTRIBUTION, VERSION
from ot.errors import ServiceUnavailableError, ToolError
from ot.services.trusted_roots import trusted_roots
from ot_packs.net.addresses import Allowed, Target, check_address, read_target

MAX_REDIRECTS = 10
_CONNECTIONS = 20
_TIMEOUT = httpx2.Timeout(20.0, connect=10.0)
AGENT = f"{DISTRIBUTION}/{VERSION}"


class GuardedClient(httpx2.AsyncClient):
    """An HTTP client that reaches the open internet, and what the person has opened."""

    def __init__(self, allowed: Allowed) -> None:
        super().__init__(
            transport=_GuardedTransport(allowed),
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            timeout=_TIMEOUT,
            trust_env=False,  # a proxy would resolve names once more, unchecked
            headers={"user-agent": AGENT},
        )


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trusted_roots(),
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_CONNECTIONS,
            keepalive_expiry=5.0,
            network_backend=_GuardedBackend(allowed),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        read_target(str(request.url), self._allowed)
        return await super().handle_async_request(request)


class _GuardedBackend(httpcore2.AnyIOBackend):
    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._checked: dict[Target, list[str]] = {}  # for as long as the client lives, which is one call
        self._locks: dict[Target, anyio.Lock] = {}

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._resolve(Target(host, port), timeout)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        self._checked.pop(Target(host, port), None)  # the next connection may find another address
        raise failure or httpcore2.ConnectError(f"{host} has no address")

    async def _resolve(self, target: Target, timeout: float | None) -> list[str]:
        """Every address of a name, all of them checked: one that is private condemns the others."""
        if found := self._checked.get(target):
            return found
        async with self._locks.setdefault(target, anyio.Lock()):
            found = self._checked.get(target) or await self._ask_resolver(target, timeout)
            self._checked[target] = found
        return found

    async def _ask_resolver(self, target: Target, timeout: float | None) -> list[str]:
        try:
            with anyio.fail_after(timeout):
                found = await anyio.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"{target.host} was not resolved in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(f"{target.host} cannot be resolved: {error.strerror or error}") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            check_address(target, address, self._allowed)
        return addresses

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("sockets of this machine are not reached")


class AnswerTooLargeError(ToolError):
    def __init__(self, url: str, limit: int) -> None:
        super().__init__(
            f"{url[:200]} returned more than {limit:,} bytes. Ask for a part of it, or have a person raise "
            "packs.web.max_size"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    url: str  # after redirects
    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        """Such as `text/html`, in small letters; empty if the answer does not say."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        for part in str(self.headers.get("content-type", "")).split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'") or None
        return None


async def ask(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    *,
    limit: int,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """Make one request and read its answer; raises ToolError, or ServiceUnavailableError where nobody answers."""
    try:
        async with client.stream(method, url, headers=dict(headers or {}), content=content) as response:
            body = await _read(response, limit)
            return Answer(str(response.url), response.status_code, response.headers, body)
    except httpx2.TooManyRedirects as error:
        raise ToolError(f"{url[:200]} has too many redirects: {error}") from error
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise ToolError(f"{url[:200]} leads to an invalid address: {error}") from error
    except httpx2.DecodingError as error:
        raise ToolError(f"{url[:200]} returned data that cannot be decompressed: {error}") from error
    except httpx2.HTTPError as error:
        raise ServiceUnavailableError("", f"{url[:200]}: {str(error) or type(error).__name__}") from error


async def _read(response: httpx2.Response, limit: int) -> bytes:
    announced = response.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise AnswerTooLargeError(str(response.url), limit)
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > limit:
            raise AnswerTooLargeError(str(response.url), limit)
    return bytes(body)
