"""WorkerPool: one worker for each extension, started by its first call, reused, and closed when idle for long."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject
from ot.config.models import WorkerSettings
from ot.context import CallContext, current_or_none
from ot.errors import WorkerCrashedError, WorkerStartError
from ot.logs import LogSpan
from ot.owned_tasks import open_background_tasks
from ot.processes.guarded_process import start_guarded
from ot.registry.pack_module import file_state
from ot.registry.registry import ToolFunction
from ot.values import ToolValue
from ot.workers.environment import prepare
from ot.workers.extension import Extension
from ot.workers.host import WorkerHost
from ot.workers.pack_environments import PackEnvironments
from ot.workers.starting import Starting, facts_for
from ot.workers.uv_program import PreparationError
from ot.workers.worker import NotBegunError, StartFailedError, Worker

ATTEMPTS = 4  # for a call whose workers end before they come to it

State = Literal["starting", "busy", "idle", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One extension that has been called, for health."""

    pack: str
    pid: int | None
    state: State
    calls: int  # in flight
    idle_seconds: float
    last_error: str | None


class _Place:
    """The place of an extension's worker, if it has one."""

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        self.starting: Starting | None = None
        self._last_error: str | None = None

    @property
    def worker(self) -> Worker | None:
        """The worker that takes its calls now."""
        worker = self.starting.worker if self.starting is not None else None
        return worker if worker is not None and worker.usable else None

    @property
    def error(self) -> str | None:
        """The reason why the latest worker could not be started, or how it ended."""
        if self.starting is None:
            return None
        if self.starting.failure is not None:
            return self.starting.failure.reason
        return self.starting.worker.failure if self.starting.worker is not None else None

    @property
    def last_error(self) -> str | None:
        """The latest failure, however long ago."""
        return self.error or self._last_error

    def start_again(self) -> Starting:
        """Begin another start, in place of the one before."""
        self._last_error = self.last_error
        self.starting = Starting(self.extension.pack, file_state(self.extension.source))
        return self.starting


class WorkerPool:
    """Made by `open_worker_pool`, which owns all its processes and tasks."""

    def __init__(self, settings: WorkerSettings, host: WorkerHost, tasks: TaskGroup) -> None:
        self._settings = settings
        self._host = host
        self._tasks = tasks
        self._places: dict[Path, _Place] = {}
        self.environments = PackEnvironments(host, tasks, limit=lambda: self._settings.start_timeout)

    async def call(self, extension: Extension, tool: str, arguments: JsonObject) -> ToolValue:
        """Call a tool of an extension, by its name without the pack.

        Raises CallError. Cancelled, the call has ended when this returns.
        """
        context = current_or_none()
        place = self._place_of(extension)
        reason = ""
        for _ in range(ATTEMPTS):
            worker = self._worker_of(place)
            if worker is None:
                worker = await self._obtain(place, tool, context)
            try:
                return await worker.call(tool, arguments, context)
            except NotBegunError as error:
                reason = str(error)
        raise WorkerCrashedError(f"{extension.pack}.{tool}", reason, begun=False)

    async def start(self, extension: Extension, context: CallContext) -> None:
        """Have the worker of an extension ready without a call; raises WorkerStartError."""
        place = self._place_of(extension)
        if self._worker_of(place) is None:
            await self._obtain(place, context.tool.partition(".")[2], context)

    def function_of(self, extension: Extension, tool: str) -> ToolFunction:
        """Return the function that calls one tool of an extension."""
        return partial(self.call, extension, tool)

    def apply(self, settings: WorkerSettings, *, renew: Callable[[str], bool]) -> None:
        """Apply other settings; a worker whose pack is to be renewed is retired."""
        self._settings = settings
        for place in self._places.values():
            if place.starting is not None and renew(place.extension.pack):
                place.starting.retire()

    def forget(self, file: Path) -> None:
        """Forget an extension whose file is gone; its worker is retired."""
        place = self._places.pop(file, None)
        if place is not None and place.starting is not None:
            place.starting.retire()

    def status(self) -> list[WorkerStatus]:
        """Return every extension that has been called, sorted by its pack."""
        places = sorted(self._places.values(), key=lambda place: place.extension.pack)
        return [self._status_of(place) for place in places]

    def _status_of(self, place: _Place) -> WorkerStatus:
        pack, worker = place.extension.pack, place.worker
        if worker is None:
            starting = place.starting is not None and not place.starting.done
            state: State = "starting" if starting else "failed" if place.error else "stopped"
            return WorkerStatus(pack, None, state, 0, 0.0, place.last_error)
        idle = 0.0 if worker.calls else anyio.current_time() - worker.last_used
        return WorkerStatus(
            pack, worker.pid, "busy" if worker.calls else "idle", worker.calls, round(idle, 1), place.last_error
        )

    # -- finding a worker

    def _place_of(self, extension: Extension) -> _Place:
        place = self._places.setdefault(extension.file, _Place(extension))
        place.extension = extension
        return place

    def _worker_of(self, place: _Place) -> Worker | None:
        """Return the worker that can take a call now; one whose file has changed is retired."""
        worker = place.worker
        if worker is not None and place.starting is not None:
            if place.starting.state == file_state(place.extension.source):
                return worker
            worker.retire()
        return None

    async def _obtain(self, place: _Place, tool: str, context: CallContext | None) -> Worker:
        """Return a worker that is started for this call, or for another one that waits for it too."""
        for _ in range(ATTEMPTS):
            starting = place.starting
            if starting is None or starting.done:
                starting = place.start_again()
                facts = facts_for(place.extension.pack, context)
                self._tasks.start_soon(self._live, place.extension, starting, facts)
            await starting.wait(context)
            if starting.failure is not None:
                raise WorkerStartError(f"{place.extension.pack}.{tool}", starting.failure.reason, starting.failure.tail)
            worker = self._worker_of(place)
            if worker is not None:
                return worker
        reason = "its file changes, or its worker ends, as soon as it is ready"
        raise WorkerStartError(f"{place.extension.pack}.{tool}", reason, "")

    # -- the life of a worker

    async def _live(self, extension: Extension, starting: Starting, facts: JsonObject) -> None:
        """Start a worker, keep it as long as it is used, and close it.

        It is started also where the call that wanted it is cancelled meanwhile: the next one will want it too.
        """
        outcome: Worker | StartFailedError = StartFailedError("the server is closing")
        try:
            outcome = await self._start(extension, starting, facts)
        finally:
            starting.settle(outcome)  # which retires it if its file has been forgotten
        if isinstance(outcome, Worker):
            try:
                await self._keep(outcome)
            finally:
                await outcome.close()

    async def _start(self, extension: Extension, starting: Starting, facts: JsonObject) -> Worker | StartFailedError:
        limit = self._settings.start_timeout
        with LogSpan("worker.start", pack=extension.pack) as span:
            try:
                with anyio.move_on_after(limit):
                    worker = await self._launch(extension, starting, facts)
                    span.add(pid=worker.pid)
                    return worker
                reason = f"it was not ready after {limit:g} s (workers.start_timeout), and still {starting.doing}"
                raise StartFailedError(reason)
            except StartFailedError as error:
                span.escalate(logging.WARNING)
                span.add(failure=error.reason)
                return error

    async def _launch(self, extension: Extension, starting: Starting, facts: JsonObject) -> Worker:
        try:
            command = await prepare(extension.source, self._host, launch=self._settings.launch, tell=starting.tell)
            starting.tell("importing its file")
            process = start_guarded(command.words, environ=command.environ, cwd=extension.folder)
        except PreparationError as error:
            raise StartFailedError(str(error)) from error
        except OSError as error:
            raise StartFailedError(f"its process cannot be started: {error}") from error
        worker = Worker(extension, process, self._host)
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
            idle_at = (now if worker.calls else worker.last_used) + self._settings.idle_timeout
            if idle_at <= now:
                worker.retire()
                break
            with anyio.move_on_at(idle_at):
                await worker.retired.wait()
        await worker.finish()


@asynccontextmanager
async def open_worker_pool(settings: WorkerSettings, *, host: WorkerHost) -> AsyncIterator[WorkerPool]:
    """Open a pool that starts nothing before the first call, and leaves nothing behind."""
    async with open_background_tasks() as tasks:
        pool = WorkerPool(settings, host, tasks)
        try:
            yield pool
        finally:
            pool.environments.close()
