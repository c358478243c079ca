"""The line of runs that wait for a kernel."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from ot.kernel.kernel import Kernel
from ot.tasks.owned_tasks import Awaited


class WaitingLine:
    """Runs that wait, the first first; each has `patience` in seconds, which stands still while `compiling`."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.compiling = False
        """True while the engine is compiled for this machine, once; until then there is no kernel."""
        self.runs: deque[Awaited[Kernel | None]] = deque()
        self._loop = asyncio.get_running_loop()

    async def wait(self, ask: Callable[[], None], keep: Callable[[Kernel], None]) -> Kernel | None:
        """Return a kernel as soon as there is one; None when it turns out that this will take long.

        `ask` asks for kernels, and `keep` gets one that arrives just as nobody waits for it any more. Raises
        TimeoutError, and what `fail` was given.
        """
        future: Awaited[Kernel | None] = Awaited(self._loop)
        self.runs.append(future)
        ask()
        timer = self._loop.call_later(self.patience, self._give_up, future)
        try:
            return await future
        except BaseException:
            if future in self.runs:
                self.runs.remove(future)
            elif future.was_given() and (kernel := future.result()) is not None:
                keep(kernel)
            raise
        finally:
            timer.cancel()

    def _give_up(self, future: Awaited[Kernel | None]) -> None:
        if self.compiling:
            self._loop.call_later(self.patience, self._give_up, future)
        elif not future.done():
            future.fail(TimeoutError())

    def give(self, take: Callable[[], Kernel]) -> None:
        """Give the first run that still waits what `take` returns; it goes on at once."""
        future = self.runs.popleft()
        if not future.done():
            future.give(take())

    def fail(self, error: Exception) -> None:
        """Raise an error in all runs that wait."""
        while self.runs:
            future = self.runs.popleft()
            if not future.done():
                future.fail(error)

    def begin_compiling(self) -> None:
        """Let all runs that wait say that this will take long; they come back."""
        self.compiling = True
        waiting, self.runs = self.runs, deque()
        for future in waiting:
            if not future.done():
                future.give(None)
