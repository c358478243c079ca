"""Frames between a kernel and the server: four bytes of length, then a JSON object.

A frame is at most 1 MB. A larger message is written into the scratch folder and announced by a frame that names the
file. Both sides treat what arrives as hostile.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from typing import Any

MAX_FRAME = 1024 * 1024
HEADER = struct.Struct("!I")
SPILL_PREFIX = ".message-"

Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is not a frame, or went away."""


def pack(message: Message) -> bytes:
    """One message as JSON, without its length."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def frame(payload: bytes) -> bytes:
    """A payload with its length in front."""
    return HEADER.pack(len(payload)) + payload


def unpack(payload: bytes) -> Message:
    """Read one message; raises WireError for anything but a JSON object."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from error
    if type(message) is not dict:
        raise WireError("not a message: no object")
    return message


class Channel:
    """The kernel's end: blocking, and shared by all threads of the code.

    Whoever waits for an answer and finds nobody reading reads for everyone, so that no thread of our own is needed.
    """

    def __init__(self, fd: int, scratch: str) -> None:
        self._fd = fd
        self._scratch = scratch
        self._sending = threading.Lock()
        self._arrival = threading.Condition(threading.Lock())
        self._reading = False
        self._answers: dict[int, Message] = {}
        self._next_id = 0
        self._spilled = 0

    def send(self, message: Message) -> None:
        """Send one message; one that is too large for a frame goes through a file."""
        payload = pack(message)
        with self._sending:
            if len(payload) > MAX_FRAME:
                payload = self._spill(payload)
            self._write(frame(payload))

    def _spill(self, payload: bytes) -> bytes:
        self._spilled += 1
        name = f"{SPILL_PREFIX}{self._spilled}"
        with open(os.path.join(self._scratch, name), "xb") as file:
            file.write(payload)
        return pack({"op": "file", "name": name})

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def receive(self) -> Message:
        """The next message; only for the time before code runs, when there is one thread."""
        size = HEADER.unpack(self._read(HEADER.size))[0]
        message = unpack(self._read(size))
        if message.get("op") == "file":
            path = os.path.join(self._scratch, os.path.basename(message["name"]))
            with open(path, "rb") as file:
                message = unpack(file.read())
            os.unlink(path)
        return message

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._fd, min(size, MAX_FRAME))
            if not part:
                raise WireError("the server went away")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def ask(self, message: Message) -> Message:
        """Send a question and wait for its answer; any number of threads may do so at once."""
        with self._arrival:
            self._next_id += 1
            number = self._next_id
        message["id"] = number
        self.send(message)
        return self._wait_for(number)

    def _wait_for(self, number: int) -> Message:
        while True:
            with self._arrival:
                while number not in self._answers and self._reading:
                    self._arrival.wait()
                if number in self._answers:
                    return self._answers.pop(number)
                self._reading = True
            answer: Message | None = None
            try:
                answer = self.receive()
            finally:
                with self._arrival:
                    self._reading = False
                    if answer is not None:
                        self._answers[answer["id"]] = answer
                    self._arrival.notify_all()
