"""Lines over two descriptors, read and written with the event loop: a client's pipes, a socket, a terminal, a file.

A thread that waits for stdin would not end when a signal asks the server to, and to hand every line to a thread and
back doubles the cost of a short call.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress

MAX_LINE = 16 * 2**20
"""Bytes of one message: a command of the largest size, every character of it escaped, and room to spare."""

_CHUNK = 64 * 1024  # a larger buffer costs more to allocate than it saves
_MOST_UNSENT = 1024 * 1024  # bytes for a client that does not read: until it does, it is not read either


class LineTooLongError(Exception):
    """A line past the limit, which is not kept."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a message of {size} bytes; at most {limit}")


class LineSplitter:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._bytes = bytearray()
        self._searched = 0
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def take(self) -> bytes | None:
        """Return the next whole line, None if there is none yet; raises LineTooLongError."""
        end = self._bytes.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._bytes)
            if self._searched > self._limit:
                self._dropped += self._searched
                self._bytes.clear()
                self._searched = 0
            return None
        return self._cut(end)

    def take_rest(self) -> bytes:
        """Return what is left at the end of input: a last line without its end."""
        return self._cut(len(self._bytes))

    def _cut(self, end: int) -> bytes:
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 1]
        self._searched = 0
        size, self._dropped = self._dropped + len(line), 0
        if size > self._limit:
            raise LineTooLongError(size, self._limit)
        return line


class LinePipes:
    """Gives each line that comes to `take`, in its order, and says when the other side has `ended`.

    A line past the limit is given as a LineTooLongError. What is written leaves in its order, as soon as the other
    side reads it; `broken` once it has stopped reading for good.
    """

    def __init__(
        self, source: int, sink: int, take: Callable[[bytes | LineTooLongError], None], ended: Callable[[], None]
    ) -> None:
        self.broken = False
        self.divert: Callable[[bytes], bool] | None = None  # is given each line first; True if it is not to be written
        self._source = source
        self._sink = sink
        self._take = take
        self._tell_ended = ended
        self._lines = LineSplitter()
        self._unsent = bytearray()
        self._ended = False
        self._held = False  # by whoever takes lines
        self._reading = False
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._sent = asyncio.Event()
        self._sent.set()
        self._waits = _is_piped(source) or os.isatty(source)  # the loop cannot wait for a file, and need not
        if _is_piped(sink):
            # A terminal is shared with other programs, which do not expect it to be non-blocking.
            os.set_blocking(sink, False)
        self._read_on()

    def hold(self) -> None:
        """Take no more lines for now, but for those that were read already."""
        self._held = True
        self._read_on()

    def go_on(self) -> None:
        self._held = False
        self._read_on()

    def write(self, line: bytes) -> None:
        """Write a line; whoever does not read it is not read either."""
        if self.broken or self._closed or (self.divert is not None and self.divert(line)):
            return
        if self._unsent:
            self._unsent += line
        else:
            self._unsent += line[self._write_some(line) :]
            if self._unsent:
                self._sent.clear()
                self._loop.add_writer(self._sink, self._write_on)
        if len(self._unsent) > _MOST_UNSENT:
            self._read_on()

    async def drained(self) -> None:
        """Wait until all that was written has left, or nobody reads it any more."""
        await self._sent.wait()

    async def close(self, patience: float = 1.0) -> None:
        """Give a client that reads slowly a moment, and close both descriptors."""
        if self._closed:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._sent.wait(), patience)
        self._closed = True
        self._read_on()
        if self._unsent:
            self._loop.remove_writer(self._sink)
        os.close(self._source)
        os.close(self._sink)

    def _read_on(self) -> None:
        """Wait for more to read, or do not, as things are."""
        wanted = not (self._held or self._ended or self._closed or len(self._unsent) > _MOST_UNSENT)
        if wanted == self._reading:
            return
        self._reading = wanted
        if not self._waits:
            if wanted:
                self._loop.call_soon(self._read)
        elif wanted:
            self._loop.add_reader(self._source, self._read)
        else:
            self._loop.remove_reader(self._source)

    def _read(self) -> None:
        if not self._reading:
            return
        try:
            chunk = os.read(self._source, _CHUNK)
        except BlockingIOError:  # one socket for both directions, which was made non-blocking for the writer
            return
        except OSError:
            chunk = b""
        self._lines.feed(chunk)
        self._ended = not chunk
        self._give_lines()
        if self._ended:
            self._tell_ended()
        if not self._waits:
            self._reading = False  # there is nothing to wait for: it reads on at once
        if self._ended or not self._waits:
            self._read_on()

    def _give_lines(self) -> None:
        line: bytes | None = b""
        while line is not None:
            try:
                line = self._lines.take()
                if line is None and self._ended:
                    line = self._lines.take_rest() or None
                if line is not None:
                    self._take(line)
            except LineTooLongError as error:
                self._take(error)

    def _write_some(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._sink, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.broken = True
            return len(data)

    def _write_on(self) -> None:
        del self._unsent[: self._write_some(self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._sink)
            self._sent.set()
        self._read_on()


def _is_piped(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
