"""The calls of one run: started as they come, and ended with it.

A task group would do the same; this costs a third of it, on the path of every call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


class CallTasks:
    """Owns a task for each call. `end` must be awaited: no call outlives its run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._scopes: dict[asyncio.Task[None], anyio.CancelScope] = {}
        self._ended = False

    def start(self, function: Callable[[T], Awaitable[None]], argument: T) -> bool:
        """Begin something; False if the run has ended and nothing is begun any more."""
        if self._ended:
            return False
        scope = anyio.CancelScope()
        task = self._loop.create_task(_run(scope, function, argument))
        self._scopes[task] = scope
        task.add_done_callback(self._forget)
        return True

    async def end(self) -> None:
        """Cancel what still runs, and wait until all of it has ended."""
        self._ended = True
        for scope in self._scopes.values():
            scope.cancel()
        with anyio.CancelScope(shield=True):
            while self._scopes:
                await asyncio.wait(self._scopes)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._scopes[task]


async def _run(scope: anyio.CancelScope, function: Callable[[T], Awaitable[None]], argument: T) -> None:
    with scope:
        await function(argument)
