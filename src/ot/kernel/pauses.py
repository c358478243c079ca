"""Pauses: after several failures in a row the next attempt waits, longer each time, and runs wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp_core.backoff import wait_after

MAX_RESTARTS = 5  # at once; after that there are pauses
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # a run that waits as long as it may sees two attempts


class Pauses:
    """Counts failures; `resume` is called at the end of each pause."""

    def __init__(self, resume: Callable[[], None]) -> None:
        self.failures = 0  # in a row
        self.reason = ""  # of the last pause, as long as nothing has succeeded since
        self._resume = resume
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pausing(self) -> bool:
        return self._timer is not None

    def count_failure(self) -> bool:
        """Count one more; True if there were too many to try again at once."""
        self.failures += 1
        return self.failures > MAX_RESTARTS

    def begin(self, reason: str) -> None:
        """Begin a pause, unless there is one."""
        if self._timer is None:
            seconds = wait_after(max(1, self.failures - MAX_RESTARTS), first=FIRST_PAUSE, longest=LONGEST_PAUSE)
            self._timer = self._loop.call_later(seconds, self._end)
            self.reason = reason

    def forget_failures(self) -> None:
        """End a pause, and the counting: something has succeeded."""
        self.failures = 0
        self.reason = ""
        self.lift()

    def lift(self) -> None:
        """End a pause without trying anything."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _end(self) -> None:
        self.lift()
        self._resume()
