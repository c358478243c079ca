"""Trial starts: servers and extensions started at the same time, once, to see what works and what it offers."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Literal

import anyio
import anyio.to_thread

from onetool.console.caller import make_caller
from ot.config.loader import LoadedConfig
from ot.errors import ServerUnavailableError, WorkerStartError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import last_lines
from ot.isolate import IsolateHost
from ot.parts.known_tools import (
    find_built_in_packs,
    load_connection_builder,
    load_extensions,
    load_registry,
    proxy_host,
    worker_host,
)
from ot.proxy import Servers, open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.registry.tool_threads import ToolThreads
from ot.stats.savings import definition_tokens
from ot.workers.extension import Extension
from ot.workers.pool import WorkerPool, open_worker_pool


@dataclass(frozen=True, slots=True)
class Start:
    """One thing to start: a server by its name in the configuration, or an extension by its pack."""

    kind: Literal["server", "extension"]
    name: str

    @property
    def label(self) -> str:
        return f"servers.{self.name}" if self.kind == "server" else f"extension {self.name}"


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one start; `failure` says why it did not work, `last_words` is the end of its stderr."""

    start: Start
    seconds: float
    tools: int = 0
    tokens: int = 0  # of its definitions, which a client would send with every request; estimated
    failure: str = ""
    last_words: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        facts = {**asdict(self), **asdict(self.start), "seconds": round(self.seconds, 3)}
        del facts["start"]
        return facts


class Watcher:
    """Is told which starts begin, in this order, what each is doing, and how it ended; this one ignores it."""

    def begin(self, starts: Sequence[Start]) -> None: ...
    def tell(self, start: Start, doing: str) -> None: ...
    def end(self, trial: Trial) -> None: ...


async def try_starts(
    loaded: LoadedConfig, *, servers: Collection[str], extensions: bool, watcher: Watcher
) -> list[Trial]:
    """Start these servers, and all extensions if wanted; all of them have ended when this returns."""
    async with _open_parts(loaded) as parts:
        starts = [Start("server", name) for name in servers]
        starts += [Start("extension", pack) for pack in sorted(parts.extensions) if extensions]
        if servers:  # the time to load our own code does not count
            await anyio.to_thread.run_sync(load_connection_builder)
        watcher.begin(starts)
        trials: dict[Start, Trial] = {}

        async def carry_out(start: Start) -> None:
            trials[start] = await parts.start(start, watcher)
            watcher.end(trials[start])

        async with anyio.create_task_group() as tasks:
            for start in starts:
                tasks.start_soon(carry_out, start)
    return [trials[start] for start in starts]


@dataclass(frozen=True, slots=True)
class _Parts:
    registry: ToolRegistry
    servers: Servers
    workers: WorkerPool
    executor: ToolExecutor
    extensions: dict[str, Extension]

    async def start(self, start: Start, watcher: Watcher) -> Trial:
        begun = time.monotonic()
        failure, tail = "", ""
        try:
            if start.kind == "server":
                await self.servers.choose(start.name)[0].obtain()
            else:
                await self._start_extension(start, watcher)
        except ServerUnavailableError as error:
            failure, tail = " ".join(filter(None, (f"it {error.reason}.", error.remedy))), error.tail
        except WorkerStartError as error:
            failure, tail = error.reason, error.tail
        seconds = time.monotonic() - begun
        if failure:
            lines = map(self.executor.redactor.text, last_lines(tail))
            return Trial(start, seconds, failure=self.executor.redactor.text(failure), last_words=tuple(lines))
        pack = self.servers.pack_name(start.name) if start.kind == "server" else start.name
        tools = self.registry.pack(pack).tools.values() if pack else ()
        return Trial(start, seconds, tools=len(tools), tokens=round(sum(map(definition_tokens, tools))))

    async def _start_extension(self, start: Start, watcher: Watcher) -> None:
        async def tell(_done: float, _total: float | None, message: str) -> None:
            watcher.tell(start, message.removeprefix(f"{start.name}: "))

        first = next(iter(self.registry.pack(start.name).tools))
        context = self.executor.context_for(f"{start.name}.{first}", make_caller(progress=tell))
        await self.workers.start(self.extensions[start.name], context)


@asynccontextmanager
async def _open_parts(loaded: LoadedConfig) -> AsyncIterator[_Parts]:
    config, environ = loaded.config, os.environ
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    places = PackPlaces(registry, config.packs)
    project, redactor = loaded.project, loaded.redactor
    executor = ToolExecutor(registry, config=config, secrets=loaded.secrets, project=project, redactor=redactor)
    async with open_worker_pool(config.workers, host=worker_host(loaded, environ)) as workers:
        extensions: dict[str, Extension] = {}

        def function_of(extension: Extension, tool: str) -> ToolFunction:
            extensions[extension.pack] = extension
            return workers.function_of(extension, tool)

        load_extensions(registry, places, loaded, function_of)
        host = proxy_host(loaded, environ)
        async with open_servers(config.servers, registry=registry, places=places, host=host, ahead=False) as servers:
            yield _Parts(registry, servers, workers, executor, extensions)
