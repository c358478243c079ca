"""MCP over the pipes of a child process: one message per line, read in linear time.

The SDK's own reader takes quadratic time for a long line, lets a server's stderr through to ours, and ends nothing that
the server started. A line that is no message is logged with its content, and reading goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from ot.logs import write_log
from ot.processes.guarded_process import GuardedProcess, start_guarded
from ot.proxy.transports.commands import ServerCommand
from ot.proxy.transports.fast_lane import FastLane
from ot_sdk.protocol import Lines, ProtocolError

GOODBYE = 0.2  # seconds that are waited for its end
_MOST_UNREAD = 64 * 1024 * 1024  # bytes of whole lines that wait for us; past that the server waits
_LARGE = 1024 * 1024  # bytes of a line that is parsed on a thread, so that others are answered meanwhile
_SHOWN = 500  # characters of a line that is no message
_MOST_LOGGED = 100  # such lines; the rest of them is only counted
_NOT_FOUND = 127 << 8  # the status of waitpid, by which shells, env and our guardians say that they found no program
_ABSENT = re.compile(
    r"""not found: (\S+)$|([^\s:'"‘’`]+)['"’`]?: (?:(?:command )?not found|No such file or directory)$""", re.MULTILINE
)
"""The last words of those, which name the program."""


class StdioTransport:
    """A process and its two streams, which `async with` gives."""

    ends = True  # which is noticed at once
    forgotten = False  # there is no session apart from the process

    def __init__(self, server: str, command: ServerCommand) -> None:
        self._server = server
        self._command = command
        self._process: GuardedProcess | None = None
        self._status: int | None = None
        self._explanation = ""  # of its guardian
        self.ended = anyio.Event()  # by itself
        self._leaving = False  # it ends because we want it to
        self.stray = ""  # the last line that was no message
        self.lane: FastLane | None = None  # a shorter way for calls, once it is started

    async def __aenter__(self) -> tuple[MessageReader, MessageWriter]:
        """Start it; raises OSError."""
        command = self._command
        process = start_guarded(command.words, environ=command.environ, cwd=command.folder)
        self._process = process
        writer = MessageWriter(process)
        reader = MessageReader(self, process)
        lane = self.lane = FastLane(writer.write, partial(reader.put, certain=True))
        reader.take = lane.take

        def end() -> None:
            self._status = process.ledger.status()
            self._explanation = process.ledger.explanation()
            if not self._leaving:
                self.ended.set()
            reader.end()
            lane.end()
            writer.wake()

        process.on_end = end
        return reader, writer

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None:
            self._leaving = not self._process.ended.is_set()
            await self._process.leave(patience=GOODBYE)

    @property
    def given(self) -> int:
        return self._process.given if self._process is not None else 0

    def took_after(self, given: int) -> bool:
        """True if it has read anything that was sent after the first `given` bytes."""
        return self._process is None or self._process.taken > given

    @property
    def tail(self) -> str:
        """The last part of what it wrote to stderr."""
        return self._process.tail if self._process is not None else ""

    def note_stray(self, line: bytes, reason: str, number: int) -> None:
        self.stray = line[: 4 * _SHOWN].decode(errors="replace").strip()[:_SHOWN]
        if number <= _MOST_LOGGED:
            facts: dict[str, Any] = {"bytes": len(line), "reason": reason, "last_logged": number == _MOST_LOGGED}
            write_log(logging.WARNING, "proxy.not_a_message", server=self._server, content=self.stray, **facts)

    def describe_end(self) -> str:
        """Say how its process ended, as the rest of a sentence that begins "the server NAME"."""
        status = self._status
        if self._explanation or status is None:
            return self._explanation or "ended"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            known = number in set(signal.Signals)
            return f"was ended by {signal.Signals(number).name if known else f'signal {number}'}"
        return f"exited with status {os.WEXITSTATUS(status)}"

    def _describe_absence(self) -> str:
        """Name a program that was not found, the command itself or one that a shell looked for; empty if none was."""
        found = _ABSENT.findall(self.tail) if self._status == _NOT_FOUND else ()
        if not found:
            return ""
        program = "".join(found[-1])
        way_out = "correct its path" if "/" in program else "install it, or give its full path"
        return f"cannot be started: not found: {program}; {way_out} under servers.{self._server}"

    def describe_silence(self) -> str:
        """Say what is known about a server that was not ready in time, to be appended to a sentence."""
        return f"; it wrote this, which is not a message: {self.stray!r}" if self.stray else ""

    def describe_failure(self, cause: BaseException, message: str, *, connected: bool) -> str:
        """Say what went wrong, as the rest of a sentence that begins "the server NAME"."""
        if isinstance(cause, OSError) and self._process is None:
            return f"cannot be started: {message}"
        stray = "" if connected else self.describe_silence()
        when = "" if connected else " before it was ready"
        if self.ended.is_set():
            return self._explanation or self._describe_absence() or f"{self.describe_end()}{when}{stray}"
        return f"did not answer as expected: {message}{stray}"


class MessageReader(ObjectReceiveStream[SessionMessage]):
    """The stream of what the server sends, as the SDK reads it."""

    def __init__(self, transport: StdioTransport, process: GuardedProcess) -> None:
        self._transport = transport
        self._process = process
        self._lines = Lines()
        self._waiting: deque[tuple[bytes, bool]] = deque()  # a line, and whether it is certain to be for the session
        self._size = 0
        self._paused = False
        self._stray = 0
        self._arrived = asyncio.Event()
        self._ended = False
        self._idle = False  # the session waits for a line
        self.take: Callable[[bytes], bool] = lambda _: False  # who gets a line before the session does
        process.on_output = self._on_output

    def _on_output(self, data: bytes) -> None:
        try:
            lines = self._lines.feed(data)
        except ProtocolError as error:
            self._transport.note_stray(b"", str(error), 1)
            self._process.kill()
            return
        for line in lines:
            if not line or line.isspace():
                continue
            # A line that is not for the session may pass only where nothing stands before it: what a server logs
            # before it answers is to be heard before the call has ended.
            first = self._idle and not self._waiting
            if not (first and self.take(line)):
                self.put(line, certain=first)

    def put(self, line: bytes, *, certain: bool = False) -> None:
        """Hand a line to the SDK; unless it is `certain`, the fast lane is offered it first."""
        self._waiting.append((line, certain))
        self._size += len(line)
        if self._size > _MOST_UNREAD and not self._paused:
            self._paused = True
            self._process.pause_output()
        self._arrived.set()

    def end(self) -> None:
        """End the stream; what has already come can still be read."""
        self._ended = True
        self._waiting = deque((line, True) for line, certain in self._waiting if certain or not self.take(line))
        self._arrived.set()

    async def receive(self) -> SessionMessage:
        """Return the next message; raises EndOfStream when the process has ended."""
        while True:
            line = await self._next_line()
            try:
                message = _parse(line) if len(line) < _LARGE else await anyio.to_thread.run_sync(_parse, line)
                return SessionMessage(message)
            except ValueError as error:
                self._stray += 1
                self._transport.note_stray(line, type(error).__name__, self._stray)

    async def _next_line(self) -> bytes:
        while True:
            while not self._waiting:
                if self._ended:
                    raise anyio.EndOfStream
                self._arrived.clear()
                self._idle = True
                await self._arrived.wait()
                self._idle = False
            line, certain = self._waiting.popleft()
            self._size -= len(line)
            if self._paused and self._size < _MOST_UNREAD // 2:
                self._paused = False
                self._process.resume_output()
            if certain or not self.take(line):
                return line

    async def aclose(self) -> None:
        """Stop reading; the transport ends the process."""
        self._ended = True
        self._waiting.clear()
        self._arrived.set()


class MessageWriter(ObjectSendStream[SessionMessage]):
    """The stream of what is sent to the server; it waits while the server does not read."""

    def __init__(self, process: GuardedProcess) -> None:
        self._process = process
        self._room = asyncio.Event()
        process.on_room = self.wake

    def wake(self) -> None:
        """Wake whoever waits to write: there is room again, or there never will be."""
        self._room.set()

    async def send(self, item: SessionMessage) -> None:
        """Write one message; raises BrokenResourceError if the process has ended."""
        await self.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def write(self, line: bytes) -> None:
        """Write one line when there is room; raises BrokenResourceError if the process has ended."""
        while self._process.waiting:
            self._room.clear()
            await self._room.wait()
        if self._process.ended.is_set():
            raise anyio.BrokenResourceError
        self._process.write(line)

    async def aclose(self) -> None:
        """Do nothing: the transport ends the process."""


_parse: Callable[[bytes], JSONRPCMessage] = partial(jsonrpc_message_adapter.validate_json, by_name=False)
