"""The two streams between a worker and the server, kept where nothing else in the process can reach them."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from ot_sdk.calls import Call
from ot_sdk.protocol import TAG, Lines, ProtocolError, decode, read_message

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
        try:
            decoded: Message = decode(message) if TAG in line else message
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


MAX_THREADS = 256
MOMENT = 0.005  # seconds


class Turns:
    """Shared by the threads that run `work`, the first of which is the one that made this."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._state = threading.Lock()
        self._turn = threading.Lock()  # held by the thread whose turn it is, or on its behalf
        self._threads = 1
        self._spare = 0  # threads that wait for their turn
        self._queued: deque[Call] = deque()  # read while every thread was busy
        self._kept: Call | None = None  # carried out by the thread whose turn it is
        self._watch: threading.Thread | None = None
        self._watching = threading.Event()

    def take(self) -> Call | None:
        """Wait for the turn to read; or get a call that has been read already."""
        with self._state:
            if self._queued:
                return self._queued.popleft()
            self._spare += 1
        self._turn.acquire()
        with self._state:
            self._spare -= 1
        return None

    def keep(self, call: Call) -> None:
        """Carry out a call and keep the turn, for a moment; to be followed by `resume`."""
        self._kept = call  # before the watch is looked at, which looks the other way round
        if not self._watching.is_set():
            self._watching.set()
            if self._watch is None:
                self._watch = threading.Thread(target=self._keep_watch, name="ot_sdk watch", daemon=True)
                self._watch.start()

    def resume(self, call: Call) -> bool:
        """True if this thread still has the turn."""
        with self._state:
            if self._kept is call:
                self._kept = None
                return True
            return False

    def pass_on(self, call: Call) -> bool:
        """Give up the turn, to carry out a call; False if no thread can take it, so the call is left to others."""
        with self._state:
            if not self._somebody_waits():
                self._queued.append(call)
                return False
        self._turn.release()
        return True

    def relieve(self, call: Call) -> None:
        """Take the turn from the thread that keeps it for this call, and give it to another one."""
        with self._state:
            if self._kept is not call or not self._somebody_waits():
                return
            self._kept = None
        self._turn.release()

    def _somebody_waits(self) -> bool:
        """True if a thread will take the turn; somebody must have it, or answers would never be read."""
        if self._spare:
            return True
        if self._threads == MAX_THREADS:
            return False
        self._threads += 1
        threading.Thread(target=self._work, name="ot_sdk calls", daemon=True).start()
        return True

    def _keep_watch(self) -> None:
        """Look every moment, and rest when nothing has been seen for long, until a call is kept again."""
        seen: Call | None = None
        quiet = 0
        while True:
            self._watching.wait()
            time.sleep(MOMENT)
            call = self._kept
            if call is not None and call is seen:
                self.relieve(call)
            seen = call
            quiet = quiet + 1 if call is None else 0
            if quiet > 200:
                quiet = 0
                self._watching.clear()
                if self._kept is not None:
                    self._watching.set()
