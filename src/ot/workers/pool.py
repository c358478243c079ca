"""WorkerPool: the workers of extensions and the libraries of packs, each loaded with the first call that needs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup

import ot.workers  # which loads the engines with the first call
from mcp_core.json_types import JsonObject
from ot.config.models import WorkerSettings
from ot.context import current
from ot.errors import ToolError
from ot.registry.registry import ToolFunction
from ot.tasks.owned_tasks import open_background_tasks
from ot.workers.extension import WorkerHost
from ot.workers.pep723 import asks_for_ray

if TYPE_CHECKING:
    from ot.context import CallContext
    from ot.registry.definitions import Libraries
    from ot.workers.extension import Extension
    from ot.workers.extension_workers import ExtensionWorkers, WorkerEngine, WorkerStatus
    from ot.workers.pack_environments import PackEnvironments
    from ot.workers.ray.engine import RayEngine


class WorkerPool:
    """Made by `open_worker_pool`, which owns all its processes and tasks."""

    def __init__(self, settings: WorkerSettings, host: WorkerHost, tasks: TaskGroup) -> None:
        self._settings = settings
        self._host = host
        self._tasks = tasks
        self._workers: dict[Path, ExtensionWorkers] = {}  # by the file of the extension

    async def call(self, extension: Extension, tool: str, arguments: Mapping[str, object]) -> Any:
        """Call a tool by its name without the pack; raises CallError. Cancelled, the call has ended."""
        return await self._workers_of(extension).call(tool, arguments)

    async def start(self, extension: Extension, context: CallContext) -> None:
        """Have the worker of an extension ready without a call; raises WorkerStartError."""
        await self._workers_of(extension).start(context)

    async def python_of(self, libraries: Libraries) -> Path | None:
        """Return the interpreter for the libraries of a pack, None for this process's own; raises PackNotReadyError."""
        return await self._environments.python_of(libraries)

    def function_of(self, extension: Extension, tool: str) -> ToolFunction:
        return partial(self.call, extension, tool)

    def apply(self, settings: WorkerSettings, *, renew: Callable[[str], bool]) -> None:
        """Apply other settings; workers of a pack that is to be renewed, or runs elsewhere from now on, are retired."""
        moved = settings.ray_address != self._settings.ray_address
        self._settings = settings
        for workers in self._workers.values():
            engine = self._engine_of(workers.extension)
            elsewhere = engine is not workers.engine or (moved and engine is not self._local)
            if elsewhere or renew(workers.extension.pack):
                workers.engine = engine
                workers.retire()

    def forget(self, file: Path) -> None:
        """Forget an extension whose file is gone; its workers are retired."""
        workers = self._workers.pop(file, None)
        if workers is not None:
            workers.retire()

    def engine_status(self) -> JsonObject:
        return self.ray.status() if self._settings.engine == "ray" else {"engine": "local"}

    def status(self) -> list[WorkerStatus]:
        """Return every worker, and every extension that has been called and has none, sorted by pack."""
        called = sorted(self._workers.values(), key=lambda workers: workers.extension.pack)
        return [status for workers in called for status in workers.statuses()]

    def _workers_of(self, extension: Extension) -> ExtensionWorkers:
        workers = self._workers.get(extension.file)
        if workers is None:
            engine = self._engine_of(extension)
            workers = ot.workers.ExtensionWorkers(extension, engine, self._tasks, settings=lambda: self._settings)
            self._workers[extension.file] = workers
        elif workers.extension is not extension:
            workers.extension, workers.engine = extension, self._engine_of(extension)
        return workers

    def _engine_of(self, extension: Extension) -> WorkerEngine:
        return self.ray if self._settings.engine == "ray" and asks_for_ray(extension.header) else self._local

    @cached_property
    def _local(self) -> WorkerEngine:
        return ot.workers.LocalEngine(self._host, launch=lambda: self._settings.launch)

    @cached_property
    def ray(self) -> RayEngine:
        """The engine on a cluster; made, and connects, when it is first wanted."""
        return ot.workers.RayEngine(self._host, self._tasks, self._environments, lambda: self._settings)

    @cached_property
    def _environments(self) -> PackEnvironments:
        return ot.workers.PackEnvironments(self._host, self._tasks, limit=lambda: self._settings.start_timeout)

    def close(self) -> None:
        """Let others remove the environments that were used."""
        if "_environments" in vars(self):
            self._environments.close()


@asynccontextmanager
async def open_worker_pool(settings: WorkerSettings, *, host: WorkerHost) -> AsyncIterator[WorkerPool]:
    """Open a pool that starts nothing before the first call, and leaves nothing behind."""
    async with open_background_tasks() as tasks:
        pool = WorkerPool(settings, host, tasks)
        try:
            yield pool
        finally:
            pool.close()


async def pack_program(name: str) -> Path:
    """Return the program that the current call's pack declares as `"bin/NAME"`, installed; raises PackNotReadyError."""
    context = current()
    libraries = context.registry.pack(context.tool.partition(".")[0]).libraries
    if libraries is None or f"bin/{name}" not in libraries.modules:
        raise ToolError(f"the pack of {context.tool} does not declare the program bin/{name} in `needs`")
    python = await context.part(WorkerPool).python_of(libraries)
    return (ot.workers.own_programs() if python is None else python.parent) / name
