"""A run's clock: it stands still while the run waits for something that is not its own doing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class RunClock:
    """Counts down while it is not held, and says when its time is up, between `start` and `stop`."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = seconds
        self._since = self._loop.time()
        self._holds = 0
        self._on_over: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def remaining(self) -> float:
        """Return the seconds that are left."""
        return self._left if self._holds else self._left - (self._loop.time() - self._since)

    def start(self, on_over: Callable[[], None]) -> None:
        """Have this called when the time is up, unless that is said before."""
        self._on_over = on_over
        if not self._holds:
            self._timer = self._loop.call_at(self._since + self._left, on_over)

    def stop(self) -> None:
        """Say nothing any more."""
        self._on_over = None
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clock meanwhile: a person is asked, or an environment is being installed."""
        if not self._holds:
            self._left = self.remaining()
        self._holds += 1
        self._set_timer()
        try:
            yield
        finally:
            self._holds -= 1
            self._since = self._loop.time()
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._on_over is not None and not self._holds:
            self._timer = self._loop.call_at(self._since + self._left, self._on_over)
