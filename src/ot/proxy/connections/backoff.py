"""The wait before a server that cannot be reached is tried again."""

from __future__ import annotations

from collections.abc import Callable

from mcp_core.backoff import wait_after

FIRST = 0.5  # seconds
LONGEST = 30.0


class Backoff:
    """The first attempt after a success is made at once; each failure doubles the wait after it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._not_before = 0.0

    def remaining(self) -> float:
        """Seconds until it may be tried again."""
        return max(0.0, self._not_before - self._clock())

    def fail(self) -> None:
        wait = wait_after(self._failures, first=FIRST, longest=LONGEST) if self._failures else 0.0
        self._failures += 1
        self._not_before = self._clock() + wait

    def succeed(self) -> None:
        self._failures = 0
        self._not_before = 0.0
