"""Tasks that one owner starts as work comes, and ends: the calls of a run, of a worker's call, of a model's turn.

A task group would do the same at three times the cost, on the path of every call, and could not stay open across the
pauses of an async generator. A task that has done its work waits for more, and begins it at once. Tasks are cancelled
through scopes: work that swallows one cancellation meets the next one at its next await.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from functools import cache, partial
from types import TracebackType
from typing import Generic, Self, TypeVar

import anyio
from anyio.abc import TaskGroup

Argument = TypeVar("Argument")
Given = TypeVar("Given")


@cache
def scope_kind() -> type[anyio.CancelScope]:
    """Return the kind of scope that the event loop has; anyio looks for it with every scope that it makes."""
    return type(anyio.CancelScope())


class ReusableScope:
    """A scope that a task enters for one piece of work after the other: `with standing: ...`.

    It stays open in between, as long as nothing goes wrong in it: to enter and leave one is a fifth of a call's work.
    No other scope that was entered later may be open when it is used. One that is not to stay is as any other.
    """

    __slots__ = ("_limited", "_scope", "_stays")

    def __init__(self, *, stays: bool = True) -> None:
        self._scope: anyio.CancelScope | None = None
        self._stays = stays
        self._limited = False

    @property
    def cancel_called(self) -> bool:
        """True if the deadline has passed of what is done in it."""
        return self._limited and self._scope is not None and self._scope.cancel_called

    def set_deadline(self, deadline: float) -> None:
        """Cancel what is done in it at a time of the event loop's clock."""
        assert self._scope is not None
        self._limited = True
        self._scope.deadline = deadline

    def __enter__(self) -> Self:
        if self._scope is None:
            self._scope = scope_kind()()
            self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        stays = kind is None and self._stays
        if stays and not self._limited:
            return False
        scope, self._limited = self._scope, False
        assert scope is not None
        if stays and not scope.cancel_called:
            scope.deadline = math.inf
            return False
        self._scope = None
        return bool(scope.__exit__(kind, error, traceback))

    def close(self) -> None:
        """Leave it for good."""
        if self._scope is not None:
            self._scope.__exit__(None, None, None)


Work = Callable[[ReusableScope], Awaitable[None]]


class Awaited(Generic[Given]):
    """Something that one task waits for, and goes on with as soon as it is given.

    It is as much of a future as a task needs. One of asyncio, whose task goes on in the loop's next turn unless its
    callback is taken away from it, was measured to cost 17 % more processor time for each call of a tool.
    """

    __slots__ = ("_asyncio_future_blocking", "_context", "_error", "_failed", "_given", "_go_on", "_loop", "settled")

    _asyncio_future_blocking: bool  # by which a task knows that this is to be waited for
    _context: Context
    _given: Given

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.settled = False
        self._failed = False
        self._error: BaseException | None = None  # until it is raised
        self._go_on: Callable[[Awaited[Given]], object] | None = None

    def __await__(self) -> Generator[Awaited[Given], None, Given]:
        if not self.settled:
            self._asyncio_future_blocking = True
            yield self
        return self.result() if self._failed else self._given

    def give(self, what: Given) -> None:
        """Have the task go on now, and not in the loop's next turn, if no other task is running."""
        self._given = what
        self.settled = True
        if self._go_on is None:
            return
        if asyncio.current_task(self._loop) is None:
            self._context.run(self._go_on, self)
        else:
            self._loop.call_soon(self._go_on, self, context=self._context)

    def fail(self, error: BaseException) -> None:
        """Have an error raised in the task, in the loop's next turn."""
        self._error = error
        self._failed = self.settled = True
        if self._go_on is not None:
            self._loop.call_soon(self._go_on, self, context=self._context)

    def done(self) -> bool:
        """True if it was given, or is not waited for any more."""
        return self.settled

    def was_given(self) -> bool:
        """True if it was given, whether or not the task has noticed."""
        return self.settled and not self._failed

    def result(self) -> Given:
        """Return what was given; raises what it failed with."""
        if not self._failed:
            return self._given
        error, self._error = self._error or asyncio.CancelledError(), None
        try:
            raise error
        finally:
            del error  # whose traceback leads here: what is in no circle goes without a search for garbage

    # -- what a task asks of a future

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, fn: Callable[[Awaited[Given]], object], /, *, context: Context) -> None:
        self._go_on, self._context = fn, context

    def cancel(self, msg: str | None = None) -> bool:
        """Cancel the task that waits; False if there is nothing to wait for any more."""
        if self.settled:
            return False
        self.fail(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True


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
        self._idle: list[Awaited[Work]] = []
        self._ended = False

    def start(
        self, function: Callable[[Argument], Awaitable[None]], argument: Argument, *, context: Context | None = None
    ) -> bool:
        """Begin something; False if the owner has ended and nothing is begun any more.

        With a `context` it has those context variables, in a task of its own.
        """
        return self._start(lambda _: function(argument), context)

    def start_scoped(self, function: Callable[[Argument, ReusableScope], Awaitable[None]], argument: Argument) -> bool:
        """Do the same for something that uses a scope of its task."""
        return self._start(partial(function, argument))

    def _start(self, work: Work, context: Context | None = None) -> bool:
        if self._ended:
            return False
        while self._idle and context is None:
            waiting = self._idle.pop()
            if not waiting.settled:  # a tool may have cancelled its own task
                waiting.give(work)
                return True
        self._own(self._carry_out(work, again=context is None), context or self._context.copy())
        return True

    def _own(self, coroutine: Coroutine[object, object, None], context: Context | None = None) -> None:
        task = self._loop.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    async def _carry_out(self, work: Work, *, again: bool) -> None:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            standing = ReusableScope()
            try:
                while not self._ended:
                    await work(standing)
                    if not again:
                        return
                    idle: Awaited[Work] = Awaited(self._loop)
                    self._idle.append(idle)
                    work = await idle
            finally:
                standing.close()
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
        for scope in list(self._scopes):
            scope.cancel()
        if self._tasks:
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


SOON = 0.02  # seconds


def soon(work: Callable[[], object]) -> None:
    """Do something in a moment, on the event loop that runs now."""
    asyncio.get_running_loop().call_later(SOON, work)
