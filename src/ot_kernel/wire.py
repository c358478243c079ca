"""Frames between a kernel and the server: four bytes of length, then a JSON object.

A frame is at most 1 MB. A larger message is written into the scratch folder and announced by a frame that names the
file. Both sides treat what arrives as hostile.
"""

from __future__ import annotations

import itertools
import json
import json.encoder
import os
import select
import struct
import time
from _thread import LockType, allocate_lock  # threading costs every fork half a millisecond
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ot_kernel.message_types import Message as Message  # noqa: PLC0414 - others import it from here
else:
    Message = dict

MAX_FRAME = 1024 * 1024
MAX_MESSAGE = 16 * 1024 * 1024  # bytes, of one that goes through a file
MAX_ITEMS = 500_000  # reading more would keep the server's interpreter, and so every other client, for a second
HEADER = struct.Struct("!I")
SPILL_PREFIX = ".message-"
_READ_AHEAD = 65536
# Most answers come sooner, also the first ones, and to wake a processor takes half of a call.
_SPIN_TIME = 0.0003  # seconds
_MOST_SKIPPED = 63  # answers


class WireError(Exception):
    """The other side sent something that is not a frame, or went away."""


def _build_writer() -> Callable[[object, int], Iterable[str]]:
    """Return a JSON writer. The library's encoder builds its C encoder again for each message, at twice the cost."""
    plain = json.JSONEncoder(separators=(",", ":"), check_circular=False)
    build = vars(json.encoder)["c_make_encoder"]
    if build is None:
        return lambda message, _: plain.encode(message)
    text = vars(json.encoder)["encode_basestring_ascii"]
    write: Callable[[object, int], Iterable[str]] = build(None, plain.default, text, None, ":", ",", False, False, True)
    return write


_to_json = _build_writer()
_quoted = json.encoder.encode_basestring_ascii
_scan: Callable[[str, int], tuple[object, int]] = vars(json.JSONDecoder())["scan_once"]


def pack(message: object) -> bytes:
    """Write one message as JSON, without its length."""
    return "".join(_to_json(message, 0)).encode("ascii")


def pack_text(number: int, text: str) -> bytes:
    """Write the answer of a question whose value is text, which most are, in a quarter of the time."""
    return f'{{"id":{number},"value":{_quoted(text)}}}'.encode("ascii")


def frame(payload: bytes) -> bytes:
    return HEADER.pack(len(payload)) + payload


def read_json(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else json.loads(text)  # which looks for blanks around it, and says what is wrong


def unpack(payload: bytes, from_json: Callable[[str], Any] = read_json) -> Message:
    """Read one message; raises WireError for anything but a JSON object."""
    try:
        message: Message = from_json(payload.decode())
    except RecursionError:  # whose words depend on the version of Python
        raise WireError("not a message: nested too deeply") from None
    except ValueError as error:
        raise WireError(f"not a message: {error}") from error
    if type(message) is not dict:
        raise WireError("not a message: not a JSON object")
    return message


class TooLargeError(Exception):
    """A message that the server would not read; the text says how large it is."""


def count_items(payload: bytes) -> int:
    """Return how many values a text of JSON may hold at most, without reading it."""
    marks = _count_marks(payload)
    if marks <= MAX_ITEMS:
        return marks
    unescaped = payload.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = unescaped.count(b'"') // 2
    return strings if strings > MAX_ITEMS else _count_marks(b"".join(unescaped.split(b'"')[::2]))


def _count_marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _check_size(payload: bytes) -> None:
    if len(payload) > MAX_MESSAGE:
        raise TooLargeError(f"{len(payload) / 1e6:.1f} MB; one call takes up to {MAX_MESSAGE >> 20} MB")
    if count_items(payload) > MAX_ITEMS:
        raise TooLargeError(f"more than {MAX_ITEMS:,} values, which is what one call takes")


class Channel:
    """The kernel's end: blocking, and shared by all threads of the code.

    Whoever waits for an answer and finds nobody reading reads for everyone, so that no extra thread is needed.
    """

    def __init__(self, fd: int, scratch: str) -> None:
        self._fd = fd
        self._poll = select.poll()
        if fd >= 0:
            self._poll.register(fd, select.POLLIN)
        self._scratch = scratch
        self._sending = allocate_lock()
        self._state = allocate_lock()  # held for every look at what follows
        self._reading = False
        self._answers: dict[int, Message] = {}
        self._waiters: list[LockType] = []
        self._next_id = 0
        self._incoming = b""
        self._skipped_spins = 0  # how many answers it will wait for without looking for them first
        self._next_skipped = 0
        self._file_numbers = itertools.count(1)

    def send(self, message: Mapping[str, object], *, bounded: bool = False) -> None:
        """Send one message; one that is too large for a frame goes through a file.

        A `bounded` one that is too large for the server raises TooLargeError: otherwise the server would end the run.
        """
        payload = self.pack(message, bounded=bounded)
        with self._sending:
            self.write(frame(payload))

    def pack(self, message: Mapping[str, object], *, bounded: bool = False) -> bytes:
        """Write one message as JSON that fits into a frame, as `send` does."""
        payload = pack(message)
        if len(payload) <= MAX_FRAME:
            return payload
        if bounded:
            _check_size(payload)
        return pack({"op": "file", "name": self.write_file([payload])})

    def write_file(self, pieces: Iterable[bytes]) -> str:
        """Write a file into the scratch folder for the server to take, and return its name. Raises OSError."""
        name = f"{SPILL_PREFIX}{next(self._file_numbers)}"
        try:
            with open(os.path.join(self._scratch, name), "xb") as file:
                file.writelines(pieces)
        except BaseException:
            self.remove_file(name)
            raise
        return name

    def remove_file(self, name: str) -> None:
        """Remove a file that was written for the server, if it is still there."""
        try:
            os.unlink(os.path.join(self._scratch, name))
        except OSError:
            pass  # the code may have removed it, or taken its own rights away

    def read_file(self, name: str) -> bytes:
        """Read and remove a file that the server has put into the scratch folder."""
        path = os.path.join(self._scratch, os.path.basename(name))
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)
        return content

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # the code has made it so
                os.sched_yield()

    def receive(self) -> Message:
        """Read the next message; only before code runs, while there is one thread."""
        return self.unpack(self.receive_frame())

    def unpack(self, payload: bytes) -> Message:
        """Read what was in a frame, or in the file that it names."""
        message = unpack(payload)
        if message.get("op") == "file":
            message = unpack(self.read_file(message["name"]))
        return message

    def receive_frame(self) -> bytes:
        """Read the next frame, and return what is in it."""
        self._have(HEADER.size)
        end = HEADER.size + HEADER.unpack_from(self._incoming)[0]
        self._have(end)
        payload, self._incoming = self._incoming[HEADER.size : end], self._incoming[end:]
        return payload

    def has_frame(self) -> bool:
        """True if a frame, or a part of one, has come already."""
        return bool(self._incoming)

    def _have(self, size: int) -> None:
        """Wait until this many bytes have arrived; header and payload of a short message come with one read."""
        while len(self._incoming) < size:
            part = os.read(self._fd, max(size - len(self._incoming), _READ_AHEAD))
            if not part:
                raise WireError("the server went away")
            self._incoming += part

    def ask(self, message: Message) -> Message:
        """Send a question and wait for its answer; any number of threads may do so at once."""
        with self._state:
            message["id"] = number = self._next_id = self._next_id + 1
        self.send(message, bounded=True)
        while True:
            with self._state:
                if number in self._answers:
                    return self._answers.pop(number)
                waiter = self._add_waiter() if self._reading else None
                self._reading = True
            if waiter is not None:
                waiter.acquire()
            elif (answer := self._read_for_everyone(number)) is not None:
                return answer

    def spin(self) -> None:
        """Poll for the answer briefly before blocking; skip that for a while if it did not come in time.

        It is where the tool takes long, and where the server needs this very processor: Linux gives it that of a
        process that sleeps at once, but hardly that of one which yields in another session.
        """
        if self._skipped_spins:
            self._skipped_spins -= 1
            return
        end = time.perf_counter() + _SPIN_TIME
        while not self._poll.poll(0):
            if time.perf_counter() > end:
                self._skipped_spins = self._next_skipped
                self._next_skipped = min(2 * self._skipped_spins + 1, _MOST_SKIPPED)
                return
            os.sched_yield()
        self._next_skipped = 0

    def _add_waiter(self) -> LockType:
        """Return a lock that is released when something has arrived."""
        waiter = allocate_lock()
        waiter.acquire()
        self._waiters.append(waiter)
        return waiter

    def _read_for_everyone(self, number: int) -> Message | None:
        """Read the next answer; return it if it has this number, otherwise keep it for the thread that asked."""
        answer: Message | None = None
        mine = False
        try:
            if not self._incoming:
                self.spin()
            answer = self.receive()
            mine = answer["id"] == number
        finally:
            with self._state:
                self._reading = False
                if answer is not None and not mine:
                    self._answers[answer["id"]] = answer
                waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                waiter.release()
        return answer if mine else None
