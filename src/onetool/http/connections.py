"""Connections of clients over HTTP: how many there may be, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import ClassVar, NamedTuple

import h11
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ot.config.models import HttpSettings
from ot_system.sockets import user_of_peer

_LARGE = 64 * 1024  # bytes that are not copied to save a system call
LOGGER = logging.getLogger("onetool.http")
_STATE = "onetool.connection"


class GatheringTransport(asyncio.Transport):
    """The transport of a connection, which gathers short writes.

    Uvicorn writes the head of an answer and its body one after the other. Each would be a packet, and wake whoever
    waits for it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._gathered: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if len(data) >= _LARGE:
            self._send_gathered()
            self._transport.write(data)
            return
        if not self._gathered:
            self._loop.call_soon(self._send_gathered)
        self._gathered.append(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        for data in list_of_data:
            self.write(data)

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._transport.write(b"".join(gathered))

    def close(self) -> None:
        self._send_gathered()
        self._transport.close()

    def abort(self) -> None:
        self._gathered.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        self._send_gathered()  # the question is what nobody takes
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


class Bounds(NamedTuple):
    connections: int  # of clients whose request was let in
    unauthenticated: int  # of all others, beside those
    request_timeout: float  # seconds

    @property
    def accepted_at_once(self) -> int:
        """Connections to accept before any is read from: the rest of a crowd must not push one out unheard."""
        return max(1, self.unauthenticated // 8)


def bounds_within(settings: HttpSettings, open_files: int) -> Bounds:
    """Return the person's bounds, or smaller ones: half of what the process may open is for kernels and servers."""
    room = open_files // 2
    unauthenticated = min(settings.unauthenticated, room // 4)
    # As many again for those that are accepted or closed, but not yet begun with or gone.
    return Bounds(min(settings.connections, room - 2 * unauthenticated), unauthenticated, settings.request_timeout)


def count_open_files_allowed() -> int:
    """Return the number of files that this process may have open."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if allowed == resource.RLIM_INFINITY else allowed


class Places:
    """Who is connected. A client whose request was let in has a place that no stranger can take.

    A new stranger takes the place of the oldest one that has asked nothing, so that connections which say nothing keep
    nobody out, and nobody is turned away while it is looked up who they are.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._strangers: dict[HttpConnection, None] = {}  # the oldest first
        self._clients: dict[HttpConnection, None] = {}  # the longest without a request first

    def enter(self, connection: HttpConnection) -> None:
        self._strangers[connection] = None
        most = self.bounds.unauthenticated
        if len(self._strangers) <= most:
            return
        heard = islice(self._strangers, len(self._strangers) - self.bounds.accepted_at_once * 2)
        oldest = next((each for each in heard if not each.asking), None)
        if oldest is None and len(self._strangers) > 2 * most:
            oldest = next(iter(self._strangers))
        if oldest is not None:
            self._close(oldest)
            LOGGER.warning("closed the oldest of %d unauthenticated connections", most)

    def is_crowded(self, connection: HttpConnection) -> bool:
        """True if a stranger has to come again later, since so many are being looked up already."""
        most = self.bounds.unauthenticated
        if len(self._strangers) <= most or connection not in self._strangers:
            return False
        return sum(each.asking for each in self._strangers) > most

    def admit(self, connection: HttpConnection) -> bool:
        """Give the client of a request that was let in a place of its own; False if all of them are busy."""
        if connection in self._clients:
            self._clients[connection] = self._clients.pop(connection)  # as the latest
            return True
        if connection not in self._strangers:  # closed meanwhile
            return False
        if len(self._clients) >= self.bounds.connections:
            idle = next((client for client in self._clients if client.idle), None)
            if idle is None:
                LOGGER.warning("refused a client: all %d connections are busy", self.bounds.connections)
                return False
            self._close(idle)
        del self._strangers[connection]
        self._clients[connection] = None
        return True

    def leave(self, connection: HttpConnection) -> None:
        self._strangers.pop(connection, None)
        self._clients.pop(connection, None)

    def _close(self, connection: HttpConnection) -> None:
        self.leave(connection)
        connection.transport.get_write_buffer_size()  # sends an answer that was only gathered so far
        connection.transport.abort()


class HttpConnection(H11Protocol):
    """Uvicorn's connection, with a place, and a deadline for each request to arrive whole; an answer may take long."""

    places: ClassVar[Places]
    only_user: ClassVar[int | None] = None  # the only one who may connect, to a socket that knows its peer

    _deadline: asyncio.TimerHandle | None = None
    _has_answered = False
    _tell_loss: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(GatheringTransport(transport, self.loop))
        if self.only_user is not None and (
            (user := user_of_peer(transport.get_extra_info("socket"))) not in (None, self.only_user)
        ):
            LOGGER.warning("refused a connection of user %d: the socket is for user %d", user, self.only_user)
            transport.abort()
            return
        self.app_state = {**self.app_state, _STATE: self}
        self.places.enter(self)
        self._watch_arrival()

    def connection_lost(self, exc: Exception | None) -> None:
        self.places.leave(self)
        self._end_deadline()
        super().connection_lost(exc)
        if self._tell_loss is not None:
            self._tell_loss()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_arrival()

    def on_response_complete(self) -> None:
        self._has_answered = True
        super().on_response_complete()
        self._watch_arrival()  # of a request that came behind the one which is answered now

    @contextmanager
    def telling_loss(self, tell: Callable[[], None]) -> Iterator[None]:
        """Have `tell` called if the connection is lost meanwhile: a task that waited for that would cost more."""
        self._tell_loss = tell
        try:
            if self.cycle.disconnected:
                tell()
            yield
        finally:
            self._tell_loss = None

    @property
    def idle(self) -> bool:
        """True between two requests."""
        return self._has_answered and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    @property
    def asking(self) -> bool:
        """True while a request waits for its answer."""
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _watch_arrival(self) -> None:
        state = self.conn.their_state
        if state is not h11.SEND_BODY and (state is not h11.IDLE or self.idle):
            self._end_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.places.bounds.request_timeout, self._give_up)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Close the connection on a request that did not arrive in time, with a word if it had begun."""
        # A part of the request is there, and nothing of its answer has been sent.
        receiving = self.conn.their_state is h11.SEND_BODY
        begun = not self.cycle.response_started if receiving else bool(self.conn.trailing_data[0])
        if begun and not self.transport.is_closing():
            headers = [("Content-Length", "0"), ("Connection", "close")]
            refusal = h11.Response(status_code=408, headers=headers, reason="Request Timeout")
            for event in (refusal, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # nobody reads
        else:
            self.transport.close()


class CrowdGate:
    """Lets a request through to whoever finds out who asks, or answers 503 where too many others wait for that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (connection := connection_of(scope)).places.is_crowded(connection):
            await _refusal("Too many clients have come at once: try again in a moment\n")(scope, receive, send)
            return
        await self._app(scope, receive, send)


class PlaceGate:
    """Lets a request through if there is a place for its connection; else it is answered 503."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = refuse_if_crowded(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def connection_of(scope: Scope) -> HttpConnection:
    connection: HttpConnection = scope["state"][_STATE]
    return connection


def refuse_if_crowded(scope: Scope) -> Response | None:
    """Give the connection of a request that was let in a place of its own; the answer to it where there is none."""
    connection = connection_of(scope)
    if connection.places.admit(connection):
        return None
    return _refusal("All connections of this server are busy: close one, or raise http.connections\n")


def _refusal(text: str) -> Response:
    return PlainTextResponse(text, status_code=503, headers={"Connection": "close", "Retry-After": "1"})
