"""MCP over this process's stdin and stdout: one message per line.

The SDK's own transport hands every line to a thread and back, which doubles the cost of a short call, and a thread that
waits for stdin does not end when a signal asks the server to. This one waits with the event loop.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import AsyncResource, ObjectReceiveStream
from mcp.shared.message import SessionMessage

from mcp_official.messages import LineBuffer, MalformedLineError, parse_message

_CHUNK = 64 * 1024  # a larger buffer costs more to allocate than it saves
_FINISH_LINE = 1.0  # seconds for the rest of a line whose sender was cancelled


class _Stream(AsyncResource):
    """The common part of both directions: a descriptor that is closed once."""

    def __init__(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        self._descriptor = descriptor
        self._piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        self._closed = False

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)


class MessageWriter(_Stream):
    """The messages to the client; several tasks may send at once, and no two lines mix."""

    def __init__(self, descriptor: int, *, on_first_sent: Callable[[], None] | None = None) -> None:
        super().__init__(descriptor)
        self._tell_sent = on_first_sent
        self._lock = anyio.Lock(fast_acquire=True)
        if self._piped:
            # A terminal is shared with other programs, which do not expect it to be non-blocking.
            os.set_blocking(descriptor, False)

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message; raises BrokenResourceError where the client has stopped reading for good."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._lock:
            if self._closed:
                raise anyio.ClosedResourceError
            await self._write(line)
        if self._tell_sent is not None:
            tell_sent, self._tell_sent = self._tell_sent, None
            tell_sent()

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

    def __init__(self, descriptor: int, writer: MessageWriter) -> None:
        super().__init__(descriptor)
        self._writer = writer
        self._waits = self._piped or os.isatty(descriptor)  # the event loop cannot wait for a file, and need not
        self._lines = LineBuffer()
        self._ended = False

    async def receive(self) -> SessionMessage:
        """Return the next message; raises EndOfStream when the client has closed its side."""
        while True:
            try:
                return SessionMessage(parse_message(await self._next_line()))
            except MalformedLineError as malformed:
                if malformed.answer is not None:
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await self._writer.send(SessionMessage(malformed.answer))

    async def _next_line(self) -> bytes:
        while (line := self._lines.take()) is None:
            if self._ended:
                raise anyio.EndOfStream
            chunk = await self._read_some()
            if not chunk:
                self._ended = True
                return self._lines.take_rest()
            self._lines.feed(chunk)
        return line

    async def _read_some(self) -> bytes:
        try:
            if self._waits:
                await anyio.wait_readable(self._descriptor)
            return os.read(self._descriptor, _CHUNK)
        except BlockingIOError:  # one socket for both directions: the writer made it non-blocking
            return await self._read_some()
        except OSError:
            return b""
