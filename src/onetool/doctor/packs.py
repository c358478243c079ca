"""Servers and extensions, each started once; the engine that runs extensions, and the libraries of packs."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal, NamedTuple

import anyio
import anyio.to_thread

from mcp_core.json_types import JsonObject
from onetool.console.caller import make_caller
from onetool.console.clean_text import count_of, show_seconds
from onetool.doctor import Finding, edit, green, red, yellow
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.errors import ServerUnavailableError, WorkerStartError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import last_lines, word_error
from ot.parts import known_tools
from ot.proxy import Acceptance, Servers, find_mistake, open_servers
from ot.proxy.definitions.acceptance import Difference
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.stats.savings import definition_tokens
from ot.workers.extension import Extension
from ot.workers.pack_environments import LibraryState, state_of
from ot.workers.pool import WorkerPool, open_worker_pool
from ot.workers.uv_program import PreparationError


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
    config, environ, project, redactor = loaded.config, os.environ, loaded.project, loaded.redactor
    registry = known_tools.load_built_in(loaded)
    places, host = PackPlaces(registry, config.packs), known_tools.proxy_host(loaded, environ)
    executor = ToolExecutor(registry, config=config, secrets=loaded.secrets, project=project, redactor=redactor)
    found: dict[str, Extension] = {}
    trials: dict[Start, Trial] = {}
    async with open_worker_pool(config.workers, host=known_tools.worker_host(loaded, environ)) as workers:

        def function_of(extension: Extension, tool: str) -> ToolFunction:
            found[extension.pack] = extension
            return workers.function_of(extension, tool)

        known_tools.load_extensions(registry, places, loaded, function_of)
        async with open_servers(config.servers, registry=registry, places=places, host=host, ahead=False) as opened:
            parts = _Parts(registry, opened, workers, executor, found)
            starts = [Start("server", name) for name in servers]
            starts += [Start("extension", pack) for pack in sorted(found) if extensions]
            if servers:  # the time to load our own code does not count
                await anyio.to_thread.run_sync(known_tools.load_connection_builder)
            watcher.begin(starts)

            async def carry_out(start: Start) -> None:
                trials[start] = await parts.start(start, watcher)
                watcher.end(trials[start])

            async with anyio.create_task_group() as tasks:
                for start in starts:
                    tasks.start_soon(carry_out, start)
    return [trials[start] for start in starts]


class _Parts(NamedTuple):
    registry: ToolRegistry
    servers: Servers
    workers: WorkerPool
    executor: ToolExecutor
    extensions: dict[str, Extension]

    async def start(self, start: Start, watcher: Watcher) -> Trial:
        async def tell(_done: float, _total: float | None, message: str) -> None:
            watcher.tell(start, message.removeprefix(f"{start.name}: "))

        begun, failure, tail = time.monotonic(), "", ""
        try:
            if start.kind == "server":
                await self.servers.choose(start.name)[0].obtain()
            else:
                first = next(iter(self.registry.pack(start.name).tools))
                context = self.executor.context_for(f"{start.name}.{first}", make_caller(progress=tell))
                await self.workers.start(self.extensions[start.name], context)
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


_LONGEST = 300  # characters of what a program said last


def look_at_packs(loaded: LoadedConfig, registry: ToolRegistry, *, offline: bool) -> Iterator[Finding]:
    """Report what can be loaded and started; `offline` starts nothing."""
    startable = find_startable_servers(loaded)
    if not offline and loaded.config.log.file is None:
        logging.getLogger("ot").setLevel(logging.CRITICAL)  # failures are reported here
    try_all = partial(try_starts, loaded, servers=startable, extensions=True, watcher=Watcher())
    for trial in () if offline else anyio.run(try_all):
        name, area, words = trial.start.name, f"{trial.start.kind}s", " ".join(trial.last_words)[-_LONGEST:]
        if trial.failure:
            text = f"{name}: {' '.join(trial.failure.split())}{f' Last output: {words}' if words else ''}"
            yield red(area, text, _way_out(trial, loaded))
        else:
            yield green(area, f"{name}: {count_of(trial.tools, 'tool')} after {show_seconds(trial.seconds)}")
    if offline and startable:
        yield green("servers", f"not started: {', '.join(startable)}")
    if not any(server.enabled for server in loaded.config.servers.values()):
        yield green("servers", "none are configured, or all are switched off")
    for name, differences in find_changed_servers(loaded).items():
        text = f"{name} has changed since you accepted it ({count_of(len(differences), 'change')})"
        yield yellow("servers", text, f"onetool accept {shlex.quote(name)}")
    for problem in registry.problems:
        yield red("extensions", f"{problem.file.parent}{os.sep}{word_error(problem)}", edit(problem.file))
    if missing := find_missing_libraries(loaded, registry):
        yield green("packs", f"libraries installed by the first call: {', '.join(missing)}", "onetool fetch --all")
    else:
        yield green("packs", f"{len(registry.packs())} packs; all libraries are installed")


def _way_out(trial: Trial, loaded: LoadedConfig) -> str:
    """Return the command that shows most of what is wrong."""
    if trial.start.kind == "extension":
        return "onetool check --import"
    server = loaded.config.servers[trial.start.name]
    if server.command is not None:
        return shlex.join([server.command, *server.args])
    login = f"onetool login {shlex.quote(trial.start.name)}"
    return login if "log" in trial.failure else f"curl -i {shlex.quote(str(server.url))}"


def find_startable_servers(loaded: LoadedConfig) -> list[str]:
    """Return the servers that are switched on and not known to be broken without starting them."""
    servers = ((name, server) for name, server in loaded.config.servers.items() if server.enabled)
    return [name for name, each in servers if not find_mistake(each, environ=os.environ, project=loaded.project)]


def find_changed_servers(loaded: LoadedConfig) -> dict[str, Sequence[Difference]]:
    """Return the servers that have changed since they were accepted, with their differences."""
    records = known_tools.proxy_host(loaded, os.environ).records
    servers = ((name, settings) for name, settings in loaded.config.servers.items() if settings.enabled)
    found = {name: Acceptance(name, settings, records).differences() for name, settings in servers}
    now = {name: [each for each in differences if each.offered] for name, differences in found.items()}
    return {name: differences for name, differences in now.items() if differences}


def find_missing_libraries(loaded: LoadedConfig, registry: ToolRegistry) -> list[str]:
    state = state_folder(loaded.home)
    needed = ((pack.name, pack.libraries) for pack in registry.packs())
    return [name for name, each in needed if each is not None and state_of(state, each) is LibraryState.MISSING]


def look_at_engine(loaded: LoadedConfig, *, offline: bool) -> Iterator[Finding]:
    """Report where extensions run; `offline` does not try the cluster."""
    if loaded.config.workers.engine == "local":
        yield green("workers", "extensions run on this machine (workers.engine: local)")
        return
    address = loaded.config.workers.ray_address
    if offline:
        yield green("workers", f"extensions may run on Ray, which was not tried (workers.ray_address: {address})")
        return

    async def connect() -> JsonObject:
        async with open_worker_pool(loaded.config.workers, host=known_tools.worker_host(loaded, os.environ)) as pool:
            return await pool.ray.connect()

    try:
        facts = anyio.run(connect)
    except PreparationError as error:
        yield red("workers", str(error), edit(loaded.files[0] if loaded.files else None))
    else:
        yield green("workers", f"Ray {facts['ray']} at {address} answers, with {facts['nodes']} nodes")
