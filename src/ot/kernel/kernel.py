"""The server's side of one kernel: its socket, its signals, its output, and its end."""

from __future__ import annotations

import asyncio
import codecs
import errno
import itertools
import os
import re
import select
import signal
import socket
import stat
import time
from collections.abc import Callable, Mapping

from ot.errors import RunRefusedError
from ot.kernel.messages import read_large
from ot.kernel.scratch import Scratch
from ot.tasks.large_values import LARGE_MESSAGE
from ot_kernel.wire import HEADER, MAX_FRAME, MAX_MESSAGE, SPILL_PREFIX, Message, WireError, frame, pack, unpack
from ot_system import signal_process

INTERRUPT, DUMP, WHERE = signal.SIGUSR1, signal.SIGUSR2, signal.SIGURG
PRINTED_HEAD, PRINTED_TAIL = 400_000, 100_000
MAX_OUTGOING = 32 * 1024 * 1024  # bytes that may wait for it to read
_TURN = 0.005  # seconds: whoever sends one message after the other is heard for so long before others are
_RUN_LINE = re.compile(r'File "<run>", line (\d{1,9})\b')  # code can write there too
_TOLD_LINE = re.compile(rb"\[line (\d{1,9})\]\n")


class Kernel:
    """One kernel process. Whoever runs a program in it sets the handlers; what arrives is hostile until checked."""

    def __init__(self, number: int, pid: int, sock: socket.socket, fds: tuple[int, int, int], scratch: Scratch) -> None:
        self.number = number
        self.scratch = scratch
        self.pid = pid
        self.overrun: str | None = None  # "memory", "scratch" or "threads", once the watch had to kill it
        self.ended = asyncio.Event()
        self.status: int | None = None
        self.on_message: Callable[[Message], None] = ignore
        self.on_large: Callable[[bytes], None] = lambda payload: self.on_message(read_large(payload))
        self.on_lost: Callable[[str], None] = ignore
        self._socket = sock
        self._handle, self._output, self._dump = fds
        self._loop = asyncio.get_running_loop()
        self.received = b""  # the message that is being handled, as it came
        self._incoming: bytes | bytearray = b""
        self._heard = 0  # bytes of it
        self._outgoing = bytearray()
        self._held = False  # by whoever handles the messages
        self._reading = True
        self._answered = False  # it was sent something while it was heard, and may say more at once
        self._next_turn: asyncio.Handle | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._file_numbers = itertools.count(1)
        self._closed = False
        self._lost: str | None = None  # why nothing more will come from it
        sock.setblocking(False)
        self._loop.add_reader(sock.fileno(), self._readable)

    # -- messages

    def send(self, message: Mapping[str, object]) -> bytes:
        """Send a message and return it as it was sent; one too large for a frame goes through the scratch folder."""
        payload = pack(message)
        self.send_payload(payload)
        return payload

    def send_payload(self, payload: bytes) -> None:
        if self._closed:
            return
        if self._lost is not None:
            self.on_lost(self._lost)
            return
        try:
            data = frame(payload if len(payload) <= MAX_FRAME else self._spill(payload))
            if not self._outgoing:
                self._answered = True
                sent = self._send(data)
                if sent == len(data):
                    return
                data = data[sent:]
        except OSError as error:
            self._lose(f"the kernel cannot be written to: {error.strerror}")
            return
        if not self._outgoing:
            self._loop.add_writer(self._socket.fileno(), self._writable)
        self._outgoing += data
        if len(self._outgoing) > MAX_OUTGOING and self._has_room.is_set():
            self._has_room.clear()
            self._stop_reading()

    def _spill(self, payload: bytes) -> bytes:
        name = self.reserve_file()
        try:
            with open(self.scratch.create(name), "wb") as file:
                file.write(payload)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self.end_for("scratch")
            raise
        return pack({"op": "file", "name": name})

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def _writable(self) -> None:
        try:
            del self._outgoing[: self._send(self._outgoing)]
        except OSError as error:
            self._lose(f"the kernel cannot be written to: {error.strerror}")
            return
        if not self._outgoing:
            self._loop.remove_writer(self._socket.fileno())
        if len(self._outgoing) <= MAX_OUTGOING and not self._has_room.is_set():
            self._has_room.set()
            self._read_on()

    @property
    def has_room(self) -> bool:
        """True if it has read enough of what was sent, or has ended and wants nothing."""
        return self._has_room.is_set()

    async def room(self) -> None:
        """Wait until it has room."""
        await self._has_room.wait()

    def hold(self, *, held: bool) -> None:
        """Leave what it says unread, or read on: what nobody can answer yet should wait in the kernel."""
        if held != self._held:
            self._held = held
            self._stop_reading() if held else self._read_on()

    def leave(self) -> None:
        """Ignore its messages from now on; `close` follows soon."""
        self.on_lost = ignore
        self._held = True

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._socket.fileno())

    def _read_on(self) -> None:
        """Handle what is here already, and then what comes."""
        if self._may_hear() and not self._reading and self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._take_turn)

    def _may_hear(self) -> bool:
        return not (self._closed or self._held) and self._lost is None and self._has_room.is_set()

    def _readable(self) -> None:
        """Handle what has come, and what comes meanwhile: code that gets its answer often asks again at once."""
        if self._held:  # it was left
            self._stop_reading()
            return
        end = time.perf_counter() + _TURN
        self._answered = True
        while self._answered and self._reading:
            try:
                data = self._socket.recv(64 * 1024)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lose("the kernel closed its connection")
                return
            self._take_in(data)
            self._answered = False
            self._hear(end)

    def _take_in(self, data: bytes) -> None:
        """Put what has come behind what was left; mostly nothing was, and a message comes whole."""
        left, heard, self._heard = self._incoming, self._heard, 0
        if heard == len(left):
            self._incoming = data
            return
        if type(left) is not bytearray:
            self._incoming = left = bytearray(left)
        del left[:heard]
        left += data

    def _take_turn(self) -> None:
        self._next_turn = None
        self._hear(time.perf_counter() + _TURN)

    def _hear(self, end: float) -> None:
        """Handle the messages that are here, for a while; if more are left then, others have their turn first."""
        try:
            while self._may_hear() and (payload := self._next_payload()) is not None:
                if len(payload) > LARGE_MESSAGE:
                    self.on_large(payload)
                else:
                    self.received = payload
                    self.on_message(unpack(payload))
                if time.perf_counter() > end:
                    self._stop_reading()
                    self._read_on()
                    return
        except WireError as error:
            self._lose(str(error))
        if not self._reading and self._may_hear():
            self._reading = True
            self._loop.add_reader(self._socket.fileno(), self._readable)

    def _next_payload(self) -> bytes | None:
        start = self._heard + HEADER.size
        if len(self._incoming) < start:
            return None
        size = HEADER.unpack_from(self._incoming, self._heard)[0]
        if size > MAX_FRAME:
            raise WireError(f"a frame of {size} bytes")
        end = start + size
        if len(self._incoming) < end:
            return None
        self._heard = end
        return bytes(self._incoming[start:end])

    def read_spilled(self, message: Message) -> tuple[Message, bytes]:
        """Read a message that came as a file: unpacked, and as it came. Blocks. Raises RunRefusedError."""
        name = message.get("name")
        with open(self.open_file(name), "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_MESSAGE:
                raise RunRefusedError(f"the kernel sent a message of more than {MAX_MESSAGE} bytes")
            payload = file.read()
        try:
            self.scratch.remove(str(name))
            return read_large(payload), payload
        except (OSError, WireError) as error:
            raise RunRefusedError(f"a message of the kernel could not be read: {error}") from error

    def open_file(self, name: object) -> int:
        """Open a file that the kernel has written for the server, whatever it is by now. Raises RunRefusedError."""
        if not isinstance(name, str) or not name.startswith(SPILL_PREFIX) or "/" in name:
            raise RunRefusedError("the kernel named a file that is not one of its messages")
        try:
            descriptor = self.scratch.open(name, os.O_RDONLY | os.O_NONBLOCK)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            raise RunRefusedError(f"a message of the kernel could not be read: {error}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RunRefusedError("the kernel named something that is not a file")
        return descriptor

    def reserve_file(self) -> str:
        """Return the name of a new file for the kernel in the scratch folder; on any thread."""
        return f"{SPILL_PREFIX}s{next(self._file_numbers)}"

    # -- signals and what is left behind

    def has_ended(self) -> bool:
        """True if its process is gone, even if the event loop has not heard of it yet."""
        if self._closed:
            return True
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(0))

    def signal(self, number: signal.Signals) -> None:
        """Signal the process itself, never another one that may have got its number."""
        if not self._closed:
            try:
                signal_process(self.pid, self._handle, number)
            except ProcessLookupError:
                pass  # it has ended; the zygote will say how

    def end_for(self, overrun: str) -> None:
        """Kill it for taking more of something than it was given."""
        self.overrun = self.overrun or overrun
        self.signal(signal.SIGKILL)

    def printed(self) -> tuple[str, int]:
        """Return head and tail of what the code wrote, and how many bytes between them were left out."""
        text, dropped, _ = self.printed_since(0)
        return text, dropped

    def printed_since(self, start: int) -> tuple[str, int, int]:
        """Return the same from an offset on, and the offset of what comes next."""
        size = os.fstat(self._output).st_size
        if size <= start:
            return "", 0, start
        head = os.pread(self._output, PRINTED_HEAD, start)
        if size - start <= PRINTED_HEAD + PRINTED_TAIL:
            text, rest = _decode(head + os.pread(self._output, PRINTED_TAIL, start + len(head)))
            return text, 0, size - rest
        tail = os.pread(self._output, PRINTED_TAIL, size - PRINTED_TAIL)
        text, rest = _decode(tail)
        return f"{_decode(head)[0]}\n…\n{text}", size - start - len(head) - len(tail), size - rest

    def open_printed(self) -> int:
        """Open all that the code wrote. The position is shared with the code: read by offset only."""
        return os.dup(self._output)

    def dumped_line(self) -> int | None:
        """Return the author's line that the main thread was at, if the process could still say so."""
        text = os.pread(self._dump, 64 * 1024, 0).decode("utf-8", "replace")
        main_thread = text.rpartition("most recent call first")[2]
        found = _RUN_LINE.search(main_thread)
        return int(found[1]) if found else None

    def ask_for_line(self) -> int:
        """Have the code write down the line of its main thread; pass the result to `told_line` to read it."""
        size = 0 if self._closed else os.fstat(self._dump).st_size
        self.signal(WHERE)
        return size

    def told_line(self, asked: int) -> int | None:
        """Return the line that the code has written down since it was asked; code in C writes none."""
        found = None if self._closed else _TOLD_LINE.search(os.pread(self._dump, 4096, asked))
        return int(found[1]) if found else None

    def note_end(self, status: int) -> None:
        """Take note that its process has ended, and how."""
        self.status = status
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS and self.scratch.is_full():
            self.overrun = self.overrun or "scratch"  # it wrote to a mapped file, where no error can be raised
        self.ended.set()
        if not self._may_hear():
            self._lose("the kernel closed its connection")  # nobody reads, who would notice

    def close(self) -> None:
        """Kill it and let go of it; what it printed cannot be read afterwards."""
        if self._closed:
            return
        self.signal(signal.SIGKILL)
        self._closed = True
        self._has_room.set()
        self._stop_listening()
        self._socket.close()
        self.scratch.close()
        for fd in (self._handle, self._output, self._dump):
            os.close(fd)
        self.on_message = self.on_large = self.on_lost = ignore  # they hold on to whoever holds on to this

    def _lose(self, reason: str) -> None:
        """Stop reading and writing: the other side is gone or cannot be trusted."""
        if not self._closed and self._lost is None:
            self._lost = reason
            self._has_room.set()
            self._stop_listening()
            self.on_lost(reason)

    def _stop_listening(self) -> None:
        self._stop_reading()
        if self._outgoing:
            self._loop.remove_writer(self._socket.fileno())


def _decode(data: bytes) -> tuple[str, int]:
    """Return text, and the number of bytes at its end that are only half a character so far."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(data), len(decoder.getstate()[0])


def ignore(_: object) -> None:
    """Ignore a message."""
