"""A connection that is made again whenever it ends, and the requests on it that wait for their answers."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable

import anyio

from mcp_core.backoff import wait_after
from mcp_core.json_types import Json
from zwave_mcp.errors import ConnectionLostError, LinkError, NoAnswerError
from zwave_mcp.network import LinkState, Network

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0  # seconds


def word_os_error(error: OSError) -> str:
    """Say why a host cannot be reached, in the system's words and without the address."""
    if isinstance(error, socket.gaierror):
        return "unknown host name"
    if isinstance(error, ssl.SSLError):
        return f"no trusted TLS connection ({error.reason or 'TLS'})"
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return "it cannot be reached"


async def keep_connected(network: Network, connect: Callable[[], Awaitable[None]]) -> None:
    """Run `connect`, which returns or raises LinkError when the connection is over, until cancelled."""
    failures = 0
    while True:
        try:
            await connect()
            reason = "the server closed the connection"
        except LinkError as error:
            reason = error.reason
        if network.link.state is LinkState.CONNECTED:
            failures = 0
        failures += 1
        network.disconnected(reason)
        log.warning("not connected to %s: %s", network.address, reason)
        # Several clients that lost one server should not all come back in the same moment.
        await anyio.sleep(wait_after(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=0.25))


class Pending:
    """The requests of one connection."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, asyncio.Future[Json]]] = {}
        self._last = 0

    def open(self, request: str) -> str:
        """Begin to wait for the answer to a request, which is named for people; returns the id to send with it."""
        self._last += 1
        key = f"{self._last}"
        self._waiting[key] = (request, asyncio.get_running_loop().create_future())
        return key

    async def wait(self, key: str, seconds: float) -> Json:
        """Wait for the answer; raises ConnectionLostError, NoAnswerError, and what `fail` was given."""
        request, future = self._waiting[key]
        try:
            with anyio.fail_after(seconds):
                return await future
        except TimeoutError:
            raise NoAnswerError(request, seconds) from None
        finally:
            del self._waiting[key]

    def answer(self, key: object, answer: Json) -> bool:
        """Deliver an answer; False if it is not awaited."""
        return self._settle(key, lambda future: future.set_result(answer))

    def name_of(self, key: object) -> str:
        """Return what was asked for under this id."""
        return self._waiting[key][0] if isinstance(key, str) and key in self._waiting else ""

    def fail(self, key: object, error: Exception) -> bool:
        """End a request with an error; False if it is not awaited."""
        return self._settle(key, lambda future: future.set_exception(error))

    def fail_all(self) -> None:
        """Fail all requests: the connection is over."""
        for request, future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(ConnectionLostError(request))

    def _settle(self, key: object, settle: Callable[[asyncio.Future[Json]], None]) -> bool:
        waiting = self._waiting.get(key) if isinstance(key, str) else None
        if waiting and not waiting[1].done():
            settle(waiting[1])
        return waiting is not None
