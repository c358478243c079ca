"""Ctrl-C while a line is typed: heard also in the instant before readline waits for a key.

CPython looks at a signal there only where it interrupts the waiting itself. One that comes just before is missed, and
the program seems deaf. So somebody else listens too, and repeats a signal that nobody acted upon.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN_AFTER = 0.05  # seconds


class _Listening:
    """One line that is being typed in the main thread."""

    def __init__(self) -> None:
        self._typing = self._interrupted = self._closed = False
        self._over = threading.Event()
        self._ear, self._mouth = os.pipe()
        os.set_blocking(self._mouth, False)
        self._previous = signal.signal(signal.SIGINT, self._interrupt)
        self._other_mouth = signal.set_wakeup_fd(self._mouth, warn_on_full_buffer=False)
        self._listener = threading.Thread(target=self._repeat, daemon=True)
        self._listener.start()

    def begin(self) -> None:
        self._typing = True
        if self._interrupted:  # before that
            self._typing = False
            raise KeyboardInterrupt

    def end(self) -> None:
        self._typing = False  # from here on a signal means nothing
        if self._closed:
            return
        self._over.set()
        os.write(self._mouth, b"\0")
        self._listener.join()
        signal.set_wakeup_fd(self._other_mouth)
        signal.signal(signal.SIGINT, self._previous)
        os.close(self._ear)
        os.close(self._mouth)
        self._closed = True

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True
        if self._typing:
            self._typing = False
            raise KeyboardInterrupt

    def _repeat(self) -> None:
        while not self._over.is_set() and signal.SIGINT not in os.read(self._ear, 64):
            pass  # another signal, or the end
        main = threading.main_thread()
        while not self._over.wait(_AGAIN_AFTER):
            if main.ident is not None and self._typing:
                signal.pthread_kill(main.ident, signal.SIGINT)


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Around `input()`, in the main thread: a Ctrl-C raises KeyboardInterrupt, whenever it comes."""
    listening = _Listening()
    try:
        try:
            listening.begin()
            yield
        finally:
            listening.end()
    finally:  # a Ctrl-C may have come between the two; it raises once, so this time it is certain
        listening.end()
