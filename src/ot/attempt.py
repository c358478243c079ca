"""An attempt that takes a while, and the calls that wait for it with stopped clocks, and hear of its progress."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import anyio

from ot.context import CallContext

TOLD_EVERY = 2.0  # seconds


class Attempt:
    """Made by whoever carries it out and ends it with `finish`; any number of calls wait for it."""

    def __init__(self, doing: str, *, prefix: str = "") -> None:
        self.done = False
        self.doing = doing
        self._prefix = prefix  # of what those who wait are told
        self.waiting: list[CallContext] = []
        self._since = time.monotonic()
        self._changed = anyio.Event()

    def tell(self, doing: str) -> None:
        """Say what is being done now, at once to everybody who waits; no words change nothing."""
        self.doing = doing or self.doing
        self._wake()

    def finish(self) -> None:
        self.done = True
        self._wake()

    async def wait(self, context: CallContext | None, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait for the outcome on behalf of one call, unless it has what it needs; that is asked after each `tell`."""

        def over() -> bool:
            return self.done or unless()

        with self._waiting(context):
            while not over():
                changed = self._changed
                with anyio.move_on_after(TOLD_EVERY):
                    await changed.wait()
                if context is not None and not over():
                    seconds = round(time.monotonic() - self._since, 1)
                    await context.progress(seconds, None, f"{self._prefix}{self.doing}")

    @contextlib.contextmanager
    def _waiting(self, context: CallContext | None) -> Iterator[None]:
        """List a call that waits, stop its clocks, and count the time as its start-up."""
        if context is None:
            yield
            return
        began = time.monotonic()
        self.waiting.append(context)
        try:
            with context.held():
                yield
        finally:
            self.waiting.remove(context)
            context.startup += time.monotonic() - began
            context.reports = 0  # what it reports from now on is its own progress

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
