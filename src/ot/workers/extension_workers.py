"""ExtensionWorkers: the workers of one extension, started by calls, reused, and closed when idle for long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Literal, Protocol

import anyio
from anyio.abc import TaskGroup

from mcp_core.quick_dataclass import dataclass
from ot.attempt import Attempt
from ot.config.models import WorkerSettings
from ot.context import CallContext, current_or_none
from ot.effects import Effect
from ot.errors import ToolError, WorkerCrashedError, WorkerLostError, WorkerStartError
from ot.logs import LogSpan
from ot.registry.pack_module import FileState, file_state
from ot.workers.extension import Extension
from ot.workers.header_options import EngineName
from ot.workers.uv_program import PreparationError, Tell
from ot.workers.worker import NotBegunError, StartFailedError, Worker

ATTEMPTS = 4  # for a call whose workers end before they come to it
State = Literal["starting", "busy", "idle", "stopped", "failed"]


class Starting(Attempt):
    """One attempt to start a worker. Made by the pool, which sets the outcome."""

    def __init__(self, pack: str, state: FileState) -> None:
        super().__init__("starting its worker", prefix=f"{pack}: ")
        self.state = state  # of the file that is being started
        self.worker: Worker | None = None
        self.failure: StartFailedError | None = None
        self._retired = False

    @property
    def error(self) -> str | None:
        """The reason why there is no worker, or why it ended if that was not in order."""
        if self.failure is not None:
            return self.failure.reason
        return self.worker.failure if self.worker is not None else None

    def settle(self, outcome: Worker | StartFailedError) -> None:
        if isinstance(outcome, Worker):
            self.worker = outcome
            if self._retired:
                outcome.retire()
        else:
            self.failure = outcome
        self.finish()

    def retire(self) -> None:
        """Let its worker take no more calls, from now on or from the beginning."""
        self._retired = True
        if self.worker is not None:
            self.worker.retire()


class WorkerEngine(Protocol):
    """Starts workers, on this machine or on a cluster; at most `most` of an extension, which share its calls."""

    @property
    def name(self) -> EngineName: ...
    @property
    def most(self) -> int: ...

    async def start(self, extension: Extension, tell: Tell) -> Worker:
        """Start the process of a worker, which has yet to import its file; raises PreparationError and OSError."""


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker, or an extension that has been called and has none now, for health."""

    pack: str
    pid: int | None
    state: State
    calls: int  # in flight
    idle_seconds: float
    last_error: str | None
    engine: EngineName
    node: str | None  # of a cluster, where it runs


class ExtensionWorkers:
    """Made by the pool for an extension that is called; `engine` is where its next worker is started."""

    def __init__(
        self, extension: Extension, engine: WorkerEngine, tasks: TaskGroup, *, settings: Callable[[], WorkerSettings]
    ) -> None:
        self.extension = extension
        self.engine = engine
        self._tasks = tasks
        self._settings = settings  # those in force
        self._starts: list[Starting] = []  # the latest last
        self._waiting = 0  # calls
        self._last_error: str | None = None

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Any:
        """Call a tool, by its name without the pack; raises CallError. Cancelled, the call has ended."""
        context = current_or_none()
        failure: WorkerCrashedError | None = None
        for _ in range(ATTEMPTS):
            worker = self._take()
            if worker is None:
                worker = await self._obtain(tool, context)
            try:
                return await worker.call(tool, arguments, context)
            except NotBegunError as error:
                failure = WorkerCrashedError(f"{self.extension.pack}.{tool}", str(error), begun=False)
            except WorkerLostError as error:
                if context is None or context.effect is not Effect.READS:
                    raise
                failure = error
            finally:
                self._wake()
        assert failure is not None
        raise failure

    async def start(self, context: CallContext) -> None:
        """Have a worker ready without a call; raises WorkerStartError."""
        if self._take() is None:
            await self._obtain(context.tool.partition(".")[2], context)

    def retire(self) -> None:
        """Let no worker take more calls, those that are being started included."""
        for starting in self._starts:
            starting.retire()

    def statuses(self) -> Iterator[WorkerStatus]:
        """Describe every worker, or that there is none."""
        pack, engine, now = self.extension.pack, self.engine.name, anyio.current_time()
        workers = [each.worker for each in self._starts if each.worker is not None and each.worker.usable]
        for worker in workers:
            idle = 0.0 if worker.calls else round(now - worker.last_used, 1)
            state: State = "busy" if worker.calls else "idle"
            yield WorkerStatus(pack, worker.pid, state, worker.calls, idle, self._latest_error(), engine, worker.node)
        if not workers:
            failed = bool(self._starts) and self._starts[-1].error is not None
            state = "starting" if self._pending() else "failed" if failed else "stopped"
            yield WorkerStatus(pack, None, state, 0, 0.0, self._latest_error(), engine, None)

    def _take(self) -> Worker | None:
        """Return an idle worker, or the least busy if there cannot be more; one whose file has changed is retired."""
        usable = self._usable()
        best = min(usable, key=attrgetter("calls"), default=None)
        return best if best is None or not best.calls or len(usable) >= self.engine.most else None

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

    async def _obtain(self, tool: str, context: CallContext | None) -> Worker:
        """Return a worker that is started for this call or for another one, or that becomes free meanwhile."""
        name = f"{self.extension.pack}.{tool}"
        self._waiting += 1
        try:
            for _ in range(ATTEMPTS):
                pending, most = self._pending(), self.engine.most
                few = len(pending) < self._waiting and len(pending) + len(self._usable()) < most  # for all that wait
                starting = self._begin(context) if not pending or few else pending[-1]
                await starting.wait(context, unless=lambda: self._take() is not None)
                worker = self._take()
                if worker is None and starting.failure is not None:
                    # A busy one: no other can be had.
                    worker = min(self._usable(), key=attrgetter("calls"), default=None)
                    if worker is None:
                        raise WorkerStartError(name, starting.failure.reason, starting.failure.tail)
                if worker is not None:
                    return worker
        finally:
            self._waiting -= 1
        raise WorkerStartError(name, "its file changed, or its worker ended, each time it was ready", "")

    def _pending(self) -> list[Starting]:
        return [starting for starting in self._starts if not starting.done]

    def _wake(self) -> None:
        """Let calls that wait look again: a worker is free, or more than one was started."""
        if self._waiting:
            for starting in self._pending():
                starting.tell("")

    def _latest_error(self) -> str | None:
        """Return the latest failure, however long ago."""
        return next(filter(None, (each.error for each in reversed(self._starts))), self._last_error)

    def _begin(self, context: CallContext | None) -> Starting:
        """Begin another start, in place of those that came to nothing and of workers that have ended."""
        self._last_error = self._latest_error()
        self._starts = [each for each in self._starts if not each.done or (each.worker and each.worker.usable)]
        starting = Starting(self.extension.pack, file_state(self.extension.source))
        self._starts.append(starting)
        self._tasks.start_soon(self._live, starting, _facts_for(self.extension.pack, context))
        return starting

    async def _live(self, starting: Starting, facts: dict[str, object]) -> None:
        """Start a worker, keep it as long as it is used, and close it."""
        # It is started also where the call that wanted it is cancelled meanwhile: the next one will want it too.
        outcome: Worker | StartFailedError = StartFailedError("the server is closing")
        try:
            outcome = await self._start(starting, facts)
        finally:
            starting.settle(outcome)  # which retires it if its file has been forgotten
            self._wake()
        if isinstance(outcome, Worker):
            try:
                await self._keep(outcome)
            finally:
                await outcome.close()

    async def _start(self, starting: Starting, facts: dict[str, object]) -> Worker | StartFailedError:
        limit = self._settings().start_timeout
        with LogSpan("worker.start", pack=self.extension.pack, engine=self.engine.name) as span:
            try:
                with anyio.move_on_after(limit):
                    worker = await self._launch(starting, facts)
                    span.add(pid=worker.pid)
                    return worker
                reason = f"it was not ready after {limit:g} s (workers.start_timeout), and was still {starting.doing}"
                raise StartFailedError(reason)
            except StartFailedError as error:
                span.escalate(logging.WARNING)
                span.add(failure=error.reason)
                return error

    async def _launch(self, starting: Starting, facts: dict[str, object]) -> Worker:
        try:
            worker = await self.engine.start(self.extension, starting.tell)
        except PreparationError as error:
            raise StartFailedError(str(error)) from error
        except OSError as error:
            raise StartFailedError(f"its process cannot be started: {error}") from error
        try:
            await worker.start(facts)
        except BaseException:
            await worker.close()
            raise
        return worker

    async def _keep(self, worker: Worker) -> None:
        """Wait until it has been idle for too long, or has been retired and has finished, or has ended."""
        while worker.usable:
            now = anyio.current_time()
            idle_at = (now if worker.calls else worker.last_used) + self._settings().idle_timeout
            if idle_at <= now:
                worker.retire()
                break
            with anyio.move_on_at(idle_at):
                await worker.retired.wait()
        await worker.finished.wait()


def _facts_for(pack: str, context: CallContext | None) -> dict[str, object]:
    """Return what a worker may know: its pack's configuration, and the secrets that its file declares."""
    facts: dict[str, object] = {"pack": pack, "log_level": logging.getLogger("ot").getEffectiveLevel()}
    if context is None:
        return facts
    secrets: dict[str, str | None] = {}
    for name in context.registry.get(context.tool).secrets:
        try:
            secrets[name] = context.secret(name)
        except ToolError:
            secrets[name] = None  # not set: the tool hears of it when it asks
    return {**facts, "config": dict(context.config), "secrets": secrets}
