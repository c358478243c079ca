"""Place: the workers of one extension, those that are being started, and the calls that wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ot.registry.pack_module import file_state
from ot.workers.engine import WorkerEngine
from ot.workers.extension import Extension
from ot.workers.starting import Starting
from ot.workers.worker import Worker


class Place:
    """Made by the pool for an extension that is called; `engine` is where its next worker is started."""

    def __init__(self, extension: Extension, engine: WorkerEngine) -> None:
        self.extension = extension
        self.engine = engine
        self._starts: list[Starting] = []  # the latest last
        self._waiting = 0
        self._last_error: str | None = None

    def take(self) -> Worker | None:
        """Return the worker that takes a call now: an idle one, or the least busy if there cannot be more of them.

        One whose file has changed is retired.
        """
        usable = self._usable()
        best = min(usable, key=_calls, default=None)
        return best if best is None or not best.calls or len(usable) >= self.engine.most else None

    def take_busy(self) -> Worker | None:
        """Return the least busy worker: no other can be had."""
        return min(self._usable(), key=_calls, default=None)

    @property
    def wants_another(self) -> bool:
        """True if a call that found no worker has to start one: none is on its way, or too few for all that wait."""
        pending = len(self.pending)
        return not pending or (pending < self._waiting and pending + len(self._usable()) < self.engine.most)

    @property
    def pending(self) -> list[Starting]:
        """Workers that are being started."""
        return [starting for starting in self._starts if not starting.done]

    @property
    def workers(self) -> list[Worker]:
        """Those that take calls now."""
        return [each.worker for each in self._starts if each.worker is not None and each.worker.usable]

    @property
    def error(self) -> str | None:
        """The reason why the latest worker could not be started, or how it ended."""
        return self._starts[-1].error if self._starts else None

    @property
    def last_error(self) -> str | None:
        """The latest failure, however long ago."""
        return next(filter(None, (each.error for each in reversed(self._starts))), self._last_error)

    def begin(self) -> Starting:
        """Begin another start, in place of those that came to nothing and of workers that have ended."""
        self._last_error = self.last_error
        self._starts = [each for each in self._starts if not each.done or (each.worker and each.worker.usable)]
        self._starts.append(Starting(self.extension.pack, file_state(self.extension.source)))
        return self._starts[-1]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a call that waits for a worker."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def wake(self) -> None:
        """Let calls that wait look again: a worker is free, or more than one was started."""
        if self._waiting:
            for starting in self.pending:
                starting.tell("")

    def retire(self) -> None:
        """Let no worker take more calls, those that are being started included."""
        for starting in self._starts:
            starting.retire()

    def _usable(self) -> list[Worker]:
        state = file_state(self.extension.source)
        usable = []
        for starting in self._starts:
            worker = starting.worker
            if worker is not None and worker.usable:
                if starting.state == state:
                    usable.append(worker)
                else:
                    worker.retire()
        return usable


def _calls(worker: Worker) -> int:
    return worker.calls
