"""Threads for plain tools: a call that cannot be stopped is waited for briefly, then counted as late.

The threads are daemons, so a tool that never returns cannot keep the server from ending; that is why they are not
anyio's, which the interpreter joins at its exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

import anyio

from ot.errors import ToolStoppedError
from ot_system import Bell

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Most plain tools are short. Waiting this long on the spot, in seconds, spares them the way through the event loop.
BRIEFLY = 0.0001


class _Thread:
    """One thread, which is told of its next job by a bell.

    To ring it lets go of the interpreter, so the thread begins at once. A lock or a queue would wake it while this
    thread still has the interpreter, and it would have to sleep again: 13 µs there and back instead of 5.
    """

    __slots__ = ("_bell", "_job", "_tell", "ended")

    def __init__(self, tell: Callable[[_Job[object]], None]) -> None:
        self._tell = tell  # the event loop of the end of a job that it waits for
        self._bell = Bell()
        self.ended = threading.Lock()  # released as a job ends
        self.ended.acquire()
        self._job: _Job[object] | None = None
        try:
            threading.Thread(target=self._work, name="ot tool", daemon=True).start()
        except RuntimeError:  # the system has no more of them
            self._bell.close()
            raise

    def give(self, job: _Job[object] | None) -> None:
        """Have it carry out a job, now that it has none; without one it ends."""
        self._job = job
        self._bell.ring()

    def forget(self) -> None:
        self._job = None
        self.ended.acquire(blocking=False)  # unless whoever waited on the spot has

    def _work(self) -> None:
        while True:
            self._bell.wait()
            if (job := self._job) is None:
                break
            job.carry_out()
            self.ended.release()
            if job.awaited:  # where the event loop knows of the end already, it hears it twice
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    job.loop.call_soon_threadsafe(self._tell, job)
            del job
        self._bell.close()


class _Job(Generic[T_co]):
    """One function on its way through a thread, with the context of its caller."""

    __slots__ = ("_context", "_function", "awaited", "done", "error", "finished", "late", "loop", "thread", "value")

    value: T_co
    thread: _Thread
    loop: asyncio.AbstractEventLoop  # that waits

    def __init__(self, function: Callable[[], T_co]) -> None:
        self._function = function
        self._context = copy_context()
        self.done: anyio.Event | None = None  # for the event loop, once that waits
        self.error: BaseException | None = None
        self.late = False
        self.finished = False
        self.awaited = False  # by the event loop, which must then be told of the end

    def ends_briefly(self) -> bool:
        """Return True if it ends right away; if not, the event loop is told later."""
        ended = self.thread.ended
        if ended.acquire(timeout=BRIEFLY):
            return True
        self.loop = asyncio.get_running_loop()
        self.awaited = True
        return ended.acquire(blocking=False)  # it may have ended before it could know

    def carry_out(self) -> None:
        try:
            self.value = self._context.run(self._function)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who waits on the event loop
            self.error = error


class ToolThreads:
    """At most `limit` plain calls at once; a late one keeps its place until it ends."""

    def __init__(self, *, limit: int = 64, grace: float = 2.0) -> None:
        self.late = 0  # calls that were cancelled and still run
        self._grace = grace  # seconds
        self._places = anyio.Semaphore(limit, fast_acquire=True)
        self._idle: list[_Thread] = []
        self._closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """Run it in the caller's context; raises ToolStoppedError if cancelled and still running after the grace."""
        try:
            self._places.acquire_nowait()
        except anyio.WouldBlock:
            await self._places.acquire()
        job = _Job(function)
        try:
            job.thread = self._idle.pop() if self._idle else _Thread(self._finish)
        except (OSError, RuntimeError):  # the system has no more of descriptors, or of threads
            self._places.release()
            raise
        job.thread.give(job)
        if job.ends_briefly():
            self._finish(job)
        else:
            await self._wait(job)
        if job.error is not None:
            raise job.error
        return job.value

    def close(self) -> None:
        """Let the threads end that have nothing to do; a late one ends when its tool does."""
        self._closed = True
        while self._idle:
            self._idle.pop().give(None)

    async def _wait(self, job: _Job[object]) -> None:
        job.done = done = anyio.Event()
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(self._grace, shield=True):
                await done.wait()
            if not done.is_set():
                job.late = True
                self.late += 1
                raise ToolStoppedError("", still_running=True) from None
            raise

    def _finish(self, job: _Job[object]) -> None:
        if job.finished:
            return
        job.finished = True
        job.thread.forget()
        if self._closed:
            job.thread.give(None)
        else:
            self._idle.append(job.thread)
        self._places.release()
        if job.late:
            self.late -= 1
        if job.done is not None:
            job.done.set()
