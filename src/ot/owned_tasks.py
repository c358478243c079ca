"""Tasks that one owner starts as work comes, and ends: the calls of a run, of a worker's call, of a model's turn.

A task group would do the same at three times the cost, on the path of every call, and could not stay open across the
pauses of an async generator. A task that has done its work waits for more, and begins it at once. Tasks are cancelled
through scopes: work that swallows one cancellation meets the next one at its next await.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

Argument = TypeVar("Argument")
Work = Callable[[], Awaitable[None]]


class _Idle(asyncio.Future[Work]):
    """What a task waits for that has nothing to do."""

    _go_on: Callable[[_Idle], object]
    _context: Context | None

    def add_done_callback(self, fn: Callable[[_Idle], object], /, *, context: Context | None = None) -> None:
        self._go_on, self._context = fn, context
        super().add_done_callback(fn, context=context)

    def give(self, work: Work) -> None:
        """Have the task begin something now, and not in the loop's next turn, if no other task is running."""
        if self._context is None or asyncio.current_task(self.get_loop()) is not None:
            self.set_result(work)
        else:
            self.remove_done_callback(self._go_on)
            self.set_result(work)
            self._context.run(self._go_on, self)


class OwnedTasks:
    """Owns a task for each piece of work in progress. `end` must be awaited: none of it outlives its owner.

    Work has the context variables of whoever made this. `on_error` hears of work that raised; without it, asyncio
    reports that.
    """

    def __init__(self, *, on_error: Callable[[BaseException], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_error = on_error
        self._context = copy_context()  # work comes from callbacks too, which know nothing of whom it is done for
        self._tasks: set[asyncio.Task[None]] = set()
        self._scopes: set[anyio.CancelScope] = set()
        self._idle: list[_Idle] = []
        self._ended = False

    def start(self, function: Callable[[Argument], Awaitable[None]], argument: Argument) -> bool:
        """Begin something; False if the owner has ended and nothing is begun any more."""
        if self._ended:
            return False
        work = partial(function, argument)
        while self._idle:
            waiting = self._idle.pop()
            if not waiting.done():  # a tool may have cancelled its own task
                waiting.give(work)
                return True
        self._own(self._carry_out(work), self._context.copy())
        return True

    def start_in(self, scope: anyio.CancelScope, work: Work) -> bool:
        """Begin something that can be cancelled alone, in a task with the context variables of whoever begins it."""
        if self._ended:
            return False
        self._scopes.add(scope)
        self._own(self._carry_out_in(scope, work))
        return True

    def _own(self, coroutine: Coroutine[object, object, None], context: Context | None = None) -> None:
        task = self._loop.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    async def _carry_out(self, work: Work) -> None:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            while not self._ended:
                await work()
                self._idle.append(idle := _Idle(loop=self._loop))
                work = await idle

    async def _carry_out_in(self, scope: anyio.CancelScope, work: Work) -> None:
        try:
            with scope:
                await work()
        finally:
            self._scopes.discard(scope)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._on_error is not None and not task.cancelled():
            error = task.exception()
            if error is not None:
                self._on_error(error)

    async def end(self) -> None:
        """Cancel what is still in progress, and wait until all of it has ended."""
        self._ended = True
        for scope in self._scopes:
            scope.cancel()
        with anyio.CancelScope(shield=True):
            while self._tasks:
                await asyncio.wait(self._tasks)


@asynccontextmanager
async def open_background_tasks() -> AsyncIterator[TaskGroup]:
    """Open a task group whose tasks are cancelled at the end; what the block raises is not wrapped in a group."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the group
            raised = error
        finally:
            tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
