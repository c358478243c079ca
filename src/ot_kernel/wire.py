"""Frames between a kernel and the server: four bytes of length, then a JSON object.

A frame is at most 1 MB. A larger message is written into the scratch folder and announced by a frame that names the
file. Both sides treat what arrives as hostile.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import time
from _thread import LockType, allocate_lock  # threading costs every fork half a millisecond
from collections.abc import Callable, Iterable
from typing import Any

MAX_FRAME = 1024 * 1024
HEADER = struct.Struct("!I")
SPILL_PREFIX = ".message-"
_READ_AHEAD = 65536
_AWAKE = 0.0002  # seconds; most answers come sooner, and waking an idle processor would take a third of that

Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is not a frame, or went away."""


_from_json = json.JSONDecoder().decode
_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # json.dumps makes one each time


def pack(message: Message) -> bytes:
    """Write one message as JSON, without its length."""
    return _to_json(message).encode("ascii")


def frame(payload: bytes) -> bytes:
    """Put its length in front of a payload."""
    return HEADER.pack(len(payload)) + payload


def unpack(payload: bytes, from_json: Callable[[str], Any] = _from_json) -> Message:
    """Read one message; raises WireError for anything but a JSON object."""
    try:
        message = from_json(payload.decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from error
    if type(message) is not dict:
        raise WireError("not a message: no object")
    return message


class Channel:
    """The kernel's end: blocking, and shared by all threads of the code.

    Whoever waits for an answer and finds nobody reading reads for everyone, so that no extra thread is needed.
    """

    def __init__(self, fd: int, scratch: str) -> None:
        self._fd = fd
        self._scratch = scratch
        self._sending = allocate_lock()
        self._state = allocate_lock()  # held for every look at what follows
        self._reading = False
        self._answers: dict[int, Message] = {}
        self._bells: list[LockType] = []
        self._next_id = 0
        self._incoming = b""
        self._file_numbers = itertools.count(1)

    def send(self, message: Message) -> None:
        """Send one message; one that is too large for a frame goes through a file."""
        payload = pack(message)
        with self._sending:
            if len(payload) > MAX_FRAME:
                payload = pack({"op": "file", "name": self.write_file([payload])})
            self._write(frame(payload))

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

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # another thread waits awake, which takes no longer than a moment
                os.sched_yield()

    def receive(self) -> Message:
        """Read the next message; only before code runs, while there is one thread."""
        size = HEADER.unpack(self._take(HEADER.size))[0]
        message = unpack(self._take(size))
        if message.get("op") == "file":
            message = unpack(self.read_file(message["name"]))
        return message

    def _take(self, size: int) -> bytes:
        """Read the next bytes; header and payload of a short message come with one read."""
        while len(self._incoming) < size:
            part = os.read(self._fd, max(size - len(self._incoming), _READ_AHEAD))
            if not part:
                raise WireError("the server went away")
            self._incoming += part
        taken, self._incoming = self._incoming[:size], self._incoming[size:]
        return taken

    def ask(self, message: Message) -> Message:
        """Send a question and wait for its answer; any number of threads may do so at once."""
        with self._state:
            self._next_id += 1
            number = self._next_id
        message["id"] = number
        self.send(message)
        while True:
            with self._state:
                if number in self._answers:
                    return self._answers.pop(number)
                bell = self._hang_bell() if self._reading else None
                self._reading = True
            if bell is None:
                self._read_for_everyone()
            else:
                bell.acquire()

    def _wait_awake(self) -> None:
        """Poll for the answer for a moment, yielding to anyone else who wants the processor."""
        os.set_blocking(self._fd, False)
        try:
            end = time.perf_counter() + _AWAKE
            while time.perf_counter() < end:
                try:
                    self._incoming = os.read(self._fd, _READ_AHEAD)
                    return
                except BlockingIOError:
                    os.sched_yield()
        finally:
            os.set_blocking(self._fd, True)

    def _hang_bell(self) -> LockType:
        """Return a lock that is released when something has arrived."""
        bell = allocate_lock()
        bell.acquire()
        self._bells.append(bell)
        return bell

    def _read_for_everyone(self) -> None:
        answer: Message | None = None
        try:
            if not self._incoming:
                self._wait_awake()
            answer = self.receive()
        finally:
            with self._state:
                self._reading = False
                if answer is not None:
                    self._answers[answer["id"]] = answer
                bells, self._bells = self._bells, []
            for bell in bells:
                bell.release()
