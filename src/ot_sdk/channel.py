"""The two streams between a worker and the server, kept where nothing else in the process can reach them."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque

from ot_sdk.protocol import Lines, ProtocolError, read_message
from ot_sdk.values import TAG, decode

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from ot_sdk.json_types import Message

_CHUNK = 64 * 1024  # more would be mapped and unmapped by the system at every read


class Channel:
    """Every thread may send; one at a time receives."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._sending = threading.Lock()
        self._lines = Lines()
        self._complete: deque[bytes] = deque()

    @property
    def pending(self) -> bool:
        """True if a message has arrived and has not been received."""
        return bool(self._complete)

    def send(self, line: bytes) -> None:
        """Write one message, and wait until the other side has taken it."""
        with self._sending:
            written = os.write(self._outgoing, line)
            if written < len(line):
                rest = memoryview(line)[written:]
                while rest:
                    rest = rest[os.write(self._outgoing, rest) :]

    def receive(self) -> Message | None:
        """Wait for the next message; None when there will be no more. Raises ProtocolError."""
        while not self._complete:
            data = os.read(self._incoming, _CHUNK)
            if not data:
                return None
            self._complete.extend(filter(bytes.strip, self._lines.feed(data)))
        line = self._complete.popleft()
        message = read_message(line)
        return _decoded(message) if TAG in line else message


def _decoded(message: Message) -> Message:
    try:
        decoded: Message = decode(message)
    except ValueError as error:
        raise ProtocolError(str(error)) from error
    return decoded


def take_channel() -> Channel:
    """Take stdin and stdout for the protocol: other code reads nothing there, and prints to stderr."""
    channel = Channel(os.dup(0), os.dup(1))  # not inherited by programs that are started later
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what a crash report shows has been written
    return channel
