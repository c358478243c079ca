"""The porch itself: reads what the client says, answers what it knows, begins runs, and calls the server otherwise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from onetool.porch.early_run import EarlyRun
from onetool.porch.entry import Entry
from onetool.porch.requests import Conversation, Request, frame_result, read_command, read_request

_CHUNK = 64 * 1024
_MOST_UNSENT = 1024 * 1024  # bytes for a client that does not read; the server knows how to wait for it
_MOST = 100  # requests: the server is given each of them again
_INITIALIZED = "notifications/initialized"
_CANCELLED = "notifications/cancelled"
_FLUSH_LIMIT = 1.0  # seconds for a client that reads slowly, at the end


class Porch:
    """One client at two descriptors that are pipes or sockets, until the server itself takes them over.

    From the first line that it can do nothing about, everything waits for the server.
    """

    def __init__(self, entry: Entry, source: int, sink: int) -> None:
        self.entry = entry
        self.source = source
        self.sink = sink
        self.handed_over = False
        self.answered: dict[int | str, str] = {}  # results by the id of their request
        self.on_over: Callable[[], None] = lambda: None  # the client has left, and nothing is left to do for it
        self._conversation = Conversation()
        self._on_answer: Callable[[Request], None] = lambda introduction: None
        self._begin: Callable[[EarlyRun], None] | None = None
        self._runs: dict[str, EarlyRun] = {}  # by id; those without an answer
        self._seen: set[str] = set()  # ids as the server tells them apart: "1" and 1 are one
        self._kept: dict[str, bytes] = {}  # the lines for the server, requests under their ids
        self._unread = bytearray()
        self._unsent = bytearray()
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._sent = _set(asyncio.Event())
        self._free = _set(asyncio.Event())
        self._wanted = asyncio.Event()
        os.set_blocking(sink, False)
        self._loop.add_reader(source, self._read)

    def when_answered(self, act: Callable[[Request], None]) -> None:
        """Do something as soon as the client has its first answer, with the request in which it says who it is."""
        self._on_answer = act
        if self._conversation.introduction is not None:
            act(self._conversation.introduction)

    def begin_runs(self, begin: Callable[[EarlyRun], None]) -> None:
        """Have runs begun by this from now on, first those that wait; until then they do."""
        if not self._ended:
            self._begin = begin
            for run in list(self._runs.values()):
                begin(run)

    async def until_free(self, patience: float) -> None:
        """Wait while runs are going and nothing needs the server, but no longer than so many seconds."""
        await _wait(self._free, patience)

    async def until_wanted(self) -> None:
        """Wait until something needs the server."""
        await self._wanted.wait()

    def want_server(self) -> None:
        """Have the server take over: something needs it."""
        self._free.set()
        self._wanted.set()

    async def hand_over(self) -> bytes:
        """Leave the descriptors to the server; returns what it should read before it reads on."""
        self._loop.remove_reader(self.source)
        while self._unsent:
            await self._sent.wait()
        self.handed_over = True
        return b"".join(self._kept.values()) + self._unread

    async def flush(self) -> None:
        """Let the client have what it was sent, if it reads at all."""
        if not self.handed_over:
            await _wait(self._sent, _FLUSH_LIMIT)

    def _read(self) -> None:
        try:
            chunk = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._unread += chunk
        self._ended = not chunk
        taken = self._take_lines() and len(self._unsent) < _MOST_UNSENT
        if not taken or self._ended:
            self._loop.remove_reader(self.source)
        if not taken or (self._ended and self._runs):
            self.want_server()
        self._look_for_end()

    def _take_lines(self) -> bool:
        """Do something about as many lines as there are; False if one has to wait for the server."""
        while (end := self._unread.find(b"\n")) >= 0:
            line = bytes(self._unread[: end + 1])
            if not self._take(line):
                return False
            del self._unread[: end + 1]
        return len(self._unread) < _CHUNK

    def _take(self, line: bytes) -> bool:
        request = read_request(line)
        if request is None or len(self._kept) >= _MOST:
            return False
        if request.id is None:
            return self._hear(request, line)
        if str(request.id) in self._seen or not (self._answer(request) or self._begin_run(request)):
            return False
        self._seen.add(str(request.id))
        self._kept[str(request.id)] = line
        return True

    def _hear(self, request: Request, line: bytes) -> bool:
        """Take a notification."""
        if request.method == _CANCELLED and (run := self._runs.pop(str(request.params.get("requestId")), None)):
            run.stop()
            self._forget(run)
            return True
        if request.method != _INITIALIZED:
            return False
        self._kept[f"notification {len(self._kept)}"] = line
        return True

    def _answer(self, request: Request) -> bool:
        key = self._conversation.key_of(request)
        result = None if key is None else self.entry.answers.get(key)
        if result is None or request.id is None:
            return False
        self._conversation.note_request(request)
        self._conversation.note_answer(request, result)
        self.answered[request.id] = result
        self._send(frame_result(request.id, result))
        if self._conversation.introduction is request:
            self._on_answer(request)
        return True

    def _begin_run(self, request: Request) -> bool:
        command, introduction = read_command(request), self._conversation.introduction
        key = None if command is None else self._conversation.frame_key_of(request)
        frame = None if key is None else self.entry.frames.get(key)
        if frame is None or introduction is None or command is None:
            return False
        run = EarlyRun(request, command, introduction, frame, self._send, on_answered=self._forget)
        self._runs[str(run.id)] = run
        self._free.clear()
        if self._begin is not None:
            self._begin(run)
        return True

    def _forget(self, run: EarlyRun) -> None:
        """Give the server nothing of a run that is over."""
        self._runs.pop(str(run.id), None)
        self._kept.pop(str(run.id), None)
        self._seen.discard(str(run.id))
        if not self._runs:
            self._free.set()
        self._look_for_end()

    def _send(self, line: bytes) -> None:
        self._unsent += line
        self._write()

    def _write(self) -> None:
        try:
            written = os.write(self.sink, self._unsent)
        except BlockingIOError:
            written = 0
        except OSError:  # the client has stopped reading for good, which the server finds out for itself
            written = len(self._unsent)
        del self._unsent[:written]
        if self._unsent:
            self._sent.clear()
            self._loop.add_writer(self.sink, self._write)
        else:
            self._loop.remove_writer(self.sink)
            self._sent.set()
            self._look_for_end()

    def _look_for_end(self) -> None:
        if self._ended and not (self._unread or self._unsent or self._runs or self.handed_over):
            self.on_over()


def _set(event: asyncio.Event) -> asyncio.Event:
    event.set()
    return event


async def _wait(event: asyncio.Event, patience: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), patience)
    except TimeoutError:
        pass
