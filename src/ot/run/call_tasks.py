"""The calls of one run: started as they come, and ended with it.

A task group would do the same at three times the cost, on the path of every call. A task that has carried out one call
waits for the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

Work = tuple[Callable[[Any], Awaitable[None]], Any]


class CallTasks:
    """Owns a task for each call in flight. `end` must be awaited: no call outlives its run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._scopes: set[anyio.CancelScope] = set()
        self._idle: list[asyncio.Future[Work]] = []
        self._ended = False

    def start(self, function: Callable[[Any], Awaitable[None]], argument: Any) -> bool:
        """Begin something; False if the run has ended and nothing is begun any more."""
        if self._ended:
            return False
        while self._idle:
            waiting = self._idle.pop()
            if not waiting.done():  # a tool may have cancelled its own task
                waiting.set_result((function, argument))
                return True
        task = self._loop.create_task(self._carry_out((function, argument)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _carry_out(self, work: Work) -> None:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            while not self._ended:
                function, argument = work
                await function(argument)
                next_work: asyncio.Future[Work] = self._loop.create_future()
                self._idle.append(next_work)
                work = await next_work

    async def end(self) -> None:
        """Cancel what still runs, and wait until all of it has ended."""
        self._ended = True
        for scope in self._scopes:
            scope.cancel()
        with anyio.CancelScope(shield=True):
            while self._tasks:
                await asyncio.wait(self._tasks)
