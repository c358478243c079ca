"""MCP over this process's stdin and stdout: one message per line.

The SDK's own transport hands every line to a thread and back, which doubles the cost of a short call, and a thread that
waits for stdin does not end when a signal asks the server to. This one waits with the event loop.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import anyio
from anyio.abc import AsyncResource, ObjectReceiveStream
from mcp.shared.message import SessionMessage

from mcp_official.messages import LineBuffer, MalformedLineError, parse_message

_CHUNK = 64 * 1024  # a larger buffer costs more to allocate than it saves
_FINISH_LINE = 1.0  # seconds for the rest of a line whose sender was cancelled


class Tap(Protocol):
    """Sees the lines of both directions while they pass."""

    def heard(self, line: bytes) -> None:
        """Take note of a line from the client."""

    def said(self, line: bytes) -> bytes:
        """Take note of a line to the client, and return what it is sent instead: the same, another one, or none."""


class Lane(Protocol):
    """Takes lines of the client that need no session."""

    def take_line(self, line: bytes, client: MessageReader) -> bool:
        """Take a line; False if it has to go the usual way."""


class _Stream(AsyncResource):
    """The common part of both directions: a descriptor that is closed once."""

    def __init__(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        self._descriptor = descriptor
        self._is_pipe = stat.S_ISFIFO(mode)
        self._piped = self._is_pipe or stat.S_ISSOCK(mode)
        self._closed = False

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)


class MessageWriter(_Stream):
    """The messages to the client; several tasks may send at once, and no two lines mix."""

    def __init__(
        self, descriptor: int, *, on_first_sent: Callable[[], None] | None = None, tap: Tap | None = None
    ) -> None:
        super().__init__(descriptor)
        self._tell_sent = on_first_sent
        self._tap = tap
        self._lock = anyio.Lock(fast_acquire=True)
        if self._piped:
            # A terminal is shared with other programs, which do not expect it to be non-blocking.
            os.set_blocking(descriptor, False)

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message; raises BrokenResourceError where the client has stopped reading for good."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if self._tap is not None:
            line = self._tap.said(line)
        await self.send_line(line)

    async def send_line(self, line: bytes) -> None:
        """Write a line; raises the same."""
        async with self._lock:
            if self._closed:
                raise anyio.ClosedResourceError
            await self._write(line)
        if self._tell_sent is not None:
            tell_sent, self._tell_sent = self._tell_sent, None
            tell_sent()

    def send_short(self, line: bytes) -> bool:
        """Write a line at once; False, and nothing is written, where that is not possible."""
        # Only of so little is it certain that a pipe takes all of it or none.
        if not self._is_pipe or len(line) > select.PIPE_BUF or self._closed or self._lock.locked() or self._tell_sent:
            return False
        try:
            return os.write(self._descriptor, line) == len(line)
        except OSError:
            return False

    async def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest := rest[self._write_some(rest) :]:
                await anyio.wait_writable(self._descriptor)
        except anyio.get_cancelled_exc_class():
            if len(rest) < len(line):
                await self._finish(rest)
            raise
        except OSError as error:
            await self.aclose()
            raise anyio.BrokenResourceError from error

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0

    async def _finish(self, rest: memoryview) -> None:
        """Complete half a line soon, or end the stream: it would spoil every later line."""
        with anyio.move_on_after(_FINISH_LINE, shield=True) as scope:
            while rest := rest[self._write_some(rest) :]:
                await anyio.wait_writable(self._descriptor)
        if scope.cancelled_caught:
            await self.aclose()


class MessageReader(_Stream, ObjectReceiveStream[SessionMessage]):
    """The messages from the client; a line that is not one is answered through `writer` and goes no further."""

    def __init__(
        self,
        descriptor: int,
        writer: MessageWriter,
        *,
        given: bytes = b"",
        tap: Tap | None = None,
        lane: Lane | None = None,
    ) -> None:
        """Read what was `given` by whoever has read before, then from the descriptor."""
        super().__init__(descriptor)
        self.send_line = writer.send_line
        self.send_short = writer.send_short
        self._writer = writer
        self._tap = tap
        self._lane = lane
        self._due: deque[bytes | MalformedLineError] = deque()  # lines for the session
        self._waiting: asyncio.Future[None] | None = None
        self._waits = self._piped or os.isatty(descriptor)  # the event loop cannot wait for a file, and need not
        self._lines = LineBuffer()
        self._lines.feed(given)
        self._ended = False  # nothing more comes
        self._over = False  # everything that came was taken

    def take_back(self, line: bytes) -> None:
        """Let a line that the lane has taken go the usual way after all."""
        self._due.append(line)
        self._wake()

    async def receive(self) -> SessionMessage:
        """Return the next message; raises EndOfStream when the client has closed its side."""
        while True:
            try:
                line = await self._next_line()
                if self._tap is not None:
                    self._tap.heard(line)
                return SessionMessage(parse_message(line))
            except MalformedLineError as malformed:
                if malformed.answer is not None:
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await self._writer.send(SessionMessage(malformed.answer))

    async def _next_line(self) -> bytes:
        while not self._due and not self._find_due():
            if self._waits:
                await self._wait()
            else:
                self._read()
        line = self._due.popleft()
        if isinstance(line, MalformedLineError):
            raise line
        return line

    def _find_due(self) -> bool:
        """Let the lane have lines up to one that it does not take; False if there is none. Raises EndOfStream."""
        try:
            while (line := self._take_line()) is not None:
                if self._lane is None or not self._lane.take_line(line, self):
                    self._due.append(line)
                    return True
        except MalformedLineError as malformed:
            self._due.append(malformed)
        return bool(self._due)

    def _take_line(self) -> bytes | None:
        line = self._lines.take()
        if line is not None or not self._ended:
            return line
        if self._over:
            raise anyio.EndOfStream
        self._over = True
        return self._lines.take_rest()

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:  # one socket for both directions: the writer made it non-blocking
            return
        except OSError:
            chunk = b""
        self._lines.feed(chunk)
        self._ended = not chunk

    async def _wait(self) -> None:
        """Wait until the session has something to do."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        loop.add_reader(self._descriptor, self._readable)
        try:
            await self._waiting
        finally:
            loop.remove_reader(self._descriptor)
            self._waiting = None

    def _readable(self) -> None:
        """Read for the lane at once: what that takes needs no turn of the session's task."""
        if self._waiting is not None and not self._waiting.done():
            self._read()
            if self._ended or self._find_due():
                self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
