"""A run's clock: it stands still while the run waits for something that is not its own doing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class RunClock:
    """Counts down while it is not held. Use `limit()` around what may take that long, and no longer."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._since = anyio.current_time()
        self._holds = 0
        self._scope = anyio.CancelScope()

    def remaining(self) -> float:
        """Return the seconds that are left."""
        return self._left if self._holds else self._left - (anyio.current_time() - self._since)

    @contextmanager
    def limit(self) -> Iterator[anyio.CancelScope]:
        """Cancel what happens inside when the time is up; `cancelled_caught` says that this happened."""
        self._set_deadline()
        with self._scope:
            yield self._scope

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clock meanwhile: a person is asked, or an environment is being installed."""
        if not self._holds:
            self._left = self.remaining()
        self._holds += 1
        self._set_deadline()
        try:
            yield
        finally:
            self._holds -= 1
            self._since = anyio.current_time()
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._scope.deadline = math.inf if self._holds else self._since + self._left
