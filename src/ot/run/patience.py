"""Patience: how long a client waits for the answer of its run before it is told how to get it later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_WAIT = 60.0  # seconds after which a run that waits for others is answered, even if patience would end sooner
GRACE = 2.0  # seconds in which a run that has waited for another one can end by itself


class Patience:
    """Counts down while nobody is asked, and then is `over`; a run that waits for another one has more of it.

    It began when the loop's clock showed `since`, or now. `renewed` if the word on a question comes with a new request,
    so that the client's own patience is new as well.
    """

    def __init__(self, seconds: float, *, since: float | None = None, renewed: bool = False) -> None:
        self.over = False
        self._on_over: Callable[[], None] | None = None
        self._seconds = seconds
        self._renewed = renewed
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time() if since is None else since
        self.ends = self._began + seconds  # by the loop's clock, unless there is more of it by then
        self._asked_at = 0.0
        self._questions = 0
        self._waits = 0
        self._spent = False
        self._timer: asyncio.TimerHandle | None = None

    def count(self, on_over: Callable[[], None]) -> None:
        """Count from now on what has passed since it began, and call this when it is over."""
        self._on_over = on_over
        self._set_timer()

    def close(self) -> None:
        """Count no more."""
        self._on_over = None
        if self._timer is not None:
            self._timer.cancel()

    def spend(self) -> None:
        """Have no more of it."""
        self._spent = True
        self._set_timer()

    @property
    def asking(self) -> bool:
        return self._questions > 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still while somebody at the client is asked."""
        if not self._questions:
            self._asked_at = self._loop.time()
        self._questions += 1
        self._set_timer()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                now = self._loop.time()
                if self._renewed:
                    self._began, self.ends = now, now + self._seconds
                else:
                    self._began += now - self._asked_at
                    self.ends += now - self._asked_at
                self._set_timer()

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """Have more of it while the run waits for another one; gives the seconds for which it can."""
        self._waits += 1
        self._set_timer()
        try:
            yield self._wait_ends() - self._loop.time()
        finally:
            self._waits -= 1
            if not self._waits:
                self.ends = max(self.ends, min(self._loop.time(), self._wait_ends()) + GRACE)
                self._set_timer()

    def _wait_ends(self) -> float:
        return self._began + max(self._seconds, LONGEST_WAIT)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._questions and self._on_over is not None:
            ends = self._wait_ends() + GRACE if self._waits else self.ends
            ends = self._loop.time() if self._spent else ends
            self.over = ends <= self._loop.time()
            self._timer = self._loop.call_at(ends, self._end)

    def _end(self) -> None:
        self.over = True
        if self._on_over is not None:
            self._on_over()
