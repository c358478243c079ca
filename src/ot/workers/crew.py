"""Crew: the workers of extensions, started by calls, reused, and closed when idle for long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.config.models import WorkerSettings
from ot.context import CallContext, current_or_none
from ot.effects import Effect
from ot.errors import WorkerCrashedError, WorkerLostError, WorkerStartError
from ot.logs import LogSpan
from ot.values import ToolValue
from ot.workers.engine import WorkerEngine
from ot.workers.extension import Extension
from ot.workers.host import WorkerHost
from ot.workers.local_engine import LocalEngine
from ot.workers.pack_environments import PackEnvironments
from ot.workers.place import Place
from ot.workers.placement import EngineName, asks_for_ray
from ot.workers.starting import Starting, facts_for
from ot.workers.uv_program import PreparationError
from ot.workers.worker import NotBegunError, StartFailedError, Worker

if TYPE_CHECKING:
    from ot.workers.ray.engine import RayEngine

ATTEMPTS = 4  # for a call whose workers end before they come to it

State = Literal["starting", "busy", "idle", "stopped", "failed"]


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


class Crew:
    """Made by the pool with the first extension that is called; `settings` are those in force."""

    def __init__(
        self,
        settings: Callable[[], WorkerSettings],
        host: WorkerHost,
        tasks: TaskGroup,
        environments: Callable[[], PackEnvironments],
    ) -> None:
        self._settings = settings
        self._host = host
        self._tasks = tasks
        self._environments = environments
        self._places: dict[Path, Place] = {}
        self._local = LocalEngine(host, launch=lambda: self._settings().launch)

    async def call(self, extension: Extension, tool: str, arguments: JsonObject) -> ToolValue:
        """Call a tool of an extension, by its name without the pack.

        Raises CallError. Cancelled, the call has ended when this returns.
        """
        context = current_or_none()
        place = self._place_of(extension)
        failure: WorkerCrashedError | None = None
        for _ in range(ATTEMPTS):
            worker = place.take()
            if worker is None:
                worker = await self._obtain(place, tool, context)
            try:
                return await worker.call(tool, arguments, context)
            except NotBegunError as error:
                failure = WorkerCrashedError(f"{extension.pack}.{tool}", str(error), begun=False)
            except WorkerLostError as error:
                if context is None or context.effect is not Effect.READS:
                    raise
                failure = error
            finally:
                place.wake()
        assert failure is not None
        raise failure

    async def start(self, extension: Extension, context: CallContext) -> None:
        """Have the worker of an extension ready without a call; raises WorkerStartError."""
        place = self._place_of(extension)
        if place.take() is None:
            await self._obtain(place, context.tool.partition(".")[2], context)

    def renew(self, is_stale: Callable[[str], bool], *, moved: bool) -> None:
        """Retire the workers of packs that are stale, or run elsewhere from now on; `moved` is the cluster's place."""
        for place in self._places.values():
            engine = self._engine_of(place.extension)
            elsewhere = engine is not place.engine or (moved and engine is not self._local)
            if elsewhere or is_stale(place.extension.pack):
                place.engine = engine
                place.retire()

    def forget(self, file: Path) -> None:
        """Forget an extension whose file is gone; its workers are retired."""
        place = self._places.pop(file, None)
        if place is not None:
            place.retire()

    def engine_status(self) -> JsonObject:
        """Describe where extensions run that ask for a cluster."""
        return self.ray.status() if self._settings().engine == "ray" else {"engine": self._local.name}

    def status(self) -> list[WorkerStatus]:
        """Return every worker, and every extension that has been called and has none, sorted by pack."""
        places = sorted(self._places.values(), key=lambda place: place.extension.pack)
        return [status for place in places for status in _statuses_of(place)]

    # -- finding a worker

    def _place_of(self, extension: Extension) -> Place:
        place = self._places.get(extension.file)
        if place is None:
            place = self._places[extension.file] = Place(extension, self._engine_of(extension))
        elif place.extension is not extension:
            place.extension, place.engine = extension, self._engine_of(extension)
        return place

    def _engine_of(self, extension: Extension) -> WorkerEngine:
        return self.ray if self._settings().engine == "ray" and asks_for_ray(extension.header) else self._local

    @cached_property
    def ray(self) -> RayEngine:
        """The engine on a cluster; made, and connects, when it is first wanted."""
        from ot.workers.ray.engine import RayEngine  # noqa: PLC0415 - most servers have none

        return RayEngine(self._host, self._tasks, self._environments(), settings=self._settings)

    async def _obtain(self, place: Place, tool: str, context: CallContext | None) -> Worker:
        """Return a worker that is started for this call or for another one, or that becomes free meanwhile."""
        name = f"{place.extension.pack}.{tool}"
        with place.waiting():
            for _ in range(ATTEMPTS):
                starting = self._begin(place, context) if place.wants_another else place.pending[-1]
                await starting.wait(context, unless=lambda: place.take() is not None)
                worker = place.take()
                if worker is None and starting.failure is not None:
                    worker = place.take_busy()
                    if worker is None:
                        raise WorkerStartError(name, starting.failure.reason, starting.failure.tail)
                if worker is not None:
                    return worker
        reason = "its file changes, or its worker ends, as soon as it is ready"
        raise WorkerStartError(name, reason, "")

    def _begin(self, place: Place, context: CallContext | None) -> Starting:
        starting = place.begin()
        facts = facts_for(place.extension.pack, context)
        self._tasks.start_soon(self._live, place, starting, facts)
        return starting

    # -- the life of a worker

    async def _live(self, place: Place, starting: Starting, facts: dict[str, object]) -> None:
        """Start a worker, keep it as long as it is used, and close it.

        It is started also where the call that wanted it is cancelled meanwhile: the next one will want it too.
        """
        outcome: Worker | StartFailedError = StartFailedError("the server is closing")
        try:
            outcome = await self._start(place, starting, facts)
        finally:
            starting.settle(outcome)  # which retires it if its file has been forgotten
            place.wake()
        if isinstance(outcome, Worker):
            try:
                await self._keep(outcome)
            finally:
                await outcome.close()

    async def _start(self, place: Place, starting: Starting, facts: dict[str, object]) -> Worker | StartFailedError:
        limit = self._settings().start_timeout
        with LogSpan("worker.start", pack=place.extension.pack, engine=place.engine.name) as span:
            try:
                with anyio.move_on_after(limit):
                    worker = await self._launch(place, starting, facts)
                    span.add(pid=worker.pid)
                    return worker
                reason = f"it was not ready after {limit:g} s (workers.start_timeout), and still {starting.doing}"
                raise StartFailedError(reason)
            except StartFailedError as error:
                span.escalate(logging.WARNING)
                span.add(failure=error.reason)
                return error

    async def _launch(self, place: Place, starting: Starting, facts: dict[str, object]) -> Worker:
        try:
            worker = await place.engine.start(place.extension, starting.tell)
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
        await worker.finish()


def _statuses_of(place: Place) -> Iterator[WorkerStatus]:
    pack, engine, now = place.extension.pack, place.engine.name, anyio.current_time()
    for worker in place.workers:
        idle = 0.0 if worker.calls else round(now - worker.last_used, 1)
        state: State = "busy" if worker.calls else "idle"
        yield WorkerStatus(pack, worker.pid, state, worker.calls, idle, place.last_error, engine, worker.node)
    if not place.workers:
        state = "starting" if place.pending else "failed" if place.error else "stopped"
        yield WorkerStatus(pack, None, state, 0, 0.0, place.last_error, engine, None)
