"""Threads for plain tools: a call that cannot be stopped is waited for briefly, then counted as late.

The threads are daemons, so a tool that never returns cannot keep the server from ending; that is why they are not
anyio's, which the interpreter joins at its exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from contextvars import copy_context

import anyio

from ot.errors import ToolStoppedError
from ot.values import ToolValue

# Most plain tools are short. Waiting this long on the spot, in seconds, spares them the way through the event loop.
BRIEFLY = 0.0001


class _Job:
    """One function on its way through a thread."""

    __slots__ = ("_bell", "_lock", "awaited", "done", "ended", "error", "function", "late", "loop", "value")

    def __init__(self, function: Callable[[], ToolValue]) -> None:
        self.function = function
        self.loop = asyncio.get_running_loop()
        self.done = anyio.Event()
        self.value: ToolValue = None
        self.error: BaseException | None = None
        self.late = False
        self.ended = False
        self.awaited = False  # by the event loop, which must then be told of the end
        self._lock = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()

    def wait_briefly(self) -> bool:
        """Return True if it ends right away; if not, the event loop is told later."""
        if self._bell.acquire(timeout=BRIEFLY):
            return True
        with self._lock:
            self.awaited = not self.ended
            return self.ended

    def end(self) -> bool:
        """Say, on its thread, that it has ended; true if the event loop must be told."""
        with self._lock:
            self.ended = True
        self._bell.release()
        return self.awaited


class ToolThreads:
    """At most `limit` plain calls at once; a late one keeps its place until it ends."""

    def __init__(self, *, limit: int = 64, grace: float = 2.0) -> None:
        self.late = 0  # calls that were cancelled and still run
        self._grace = grace  # seconds
        self._places = anyio.CapacityLimiter(limit)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads = 0
        self._running = 0

    async def run(self, function: Callable[[], ToolValue]) -> ToolValue:
        """Run it with the context of the caller.

        Raises ToolStoppedError where the call was cancelled and the function still runs after the grace.
        """
        job = _Job(function)
        try:
            self._places.acquire_on_behalf_of_nowait(job)
        except anyio.WouldBlock:
            await self._places.acquire_on_behalf_of(job)
        self._start(job)
        if job.wait_briefly():
            self._finish(job)
        else:
            await self._wait(job)
        if job.error is not None:
            raise job.error
        return job.value

    def close(self) -> None:
        """Let the threads end that have nothing to do; a late one ends when its tool does."""
        for _ in range(self._threads):
            self._queue.put(None)
        self._threads = 0

    async def _wait(self, job: _Job) -> None:
        try:
            await job.done.wait()
        except anyio.get_cancelled_exc_class():
            await self._wait_once_more(job)
            raise

    async def _wait_once_more(self, job: _Job) -> None:
        with anyio.move_on_after(self._grace, shield=True):
            await job.done.wait()
        if not job.done.is_set():
            job.late = True
            self.late += 1
            raise ToolStoppedError("", still_running=True) from None

    def _start(self, job: _Job) -> None:
        self._running += 1
        if self._running > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name="ot tool", daemon=True).start()
        context = copy_context()
        function = job.function
        job.function = lambda: context.run(function)
        self._queue.put(job)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                job.value = job.function()
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who waits on the event loop
                job.error = error
            if job.end():
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    job.loop.call_soon_threadsafe(self._finish, job)
            del job

    def _finish(self, job: _Job) -> None:
        self._running -= 1
        self._places.release_on_behalf_of(job)
        if job.late:
            self.late -= 1
        job.done.set()
