"""App: the parts of an engine, listed once. Fronts use them, packs find them by type, and a reload reaches them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import field, fields

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.ai.opening import ModelAccess
from ot.config.keys import ANY, known_keys
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.config.paths import PackFolders
from ot.config.section import NEXT_START
from ot.errors import PackLoadError
from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import build_allowed_files
from ot.files.folder_watch import FolderWatches
from ot.introspect import Finder, Health, Reload
from ot.journal.journal import Journal
from ot.kernel.supply import KernelSupply
from ot.parts.known_tools import note_absent, reads_of, wrong_entries
from ot.parts.person_overlay import PersonOverlay
from ot.parts.tools import Tools
from ot.proxy import Servers
from ot.registry.pack_module import module_reference
from ot.registry.registry import ToolRegistry
from ot.results.kept_values import KeptValues
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.namespace import Namespace
from ot.run.runner import Runner, RunSettings
from ot.run.runs import Runs
from ot.run.snippets import Snippets
from ot.services.rate_limits import RateLimits
from ot.shapes.shapes import Shapes
from ot.stats.statistics import build_statistics
from ot.text.redaction import Redactor
from ot.workers.pool import WorkerPool


@dataclass(slots=True, kw_only=True)
class App:
    """An engine that serves one person."""

    started: LoadedConfig  # kernels, among others, keep to it
    loaded: LoadedConfig  # as it is in force
    tools: Tools
    executor: ToolExecutor
    supply: KernelSupply
    namespace: Namespace
    runner: Runner
    runs: Runs
    finder: Finder
    shapes: Shapes
    journal: Journal
    rate_limits: RateLimits
    redactor: Redactor
    folders: PackFolders
    watches: FolderWatches
    results: ResultStore
    reader: ResultReader
    kept_values: KeptValues
    own: PersonOverlay
    own_definition: Callable[[], str]  # the definition that a client gets of us, for the statistics
    reload: Reload = field(init=False)

    @property
    def config(self) -> Config:
        """The configuration of the start."""
        return self.started.config

    @property
    def registry(self) -> ToolRegistry:
        return self.tools.registry

    @property
    def servers(self) -> Servers:
        return self.tools.servers

    @property
    def workers(self) -> WorkerPool:
        return self.tools.workers

    @property
    def problems(self) -> list[PackLoadError]:
        """Packs that could not be loaded, and why."""
        return self.registry.problems

    def lend_all(self) -> None:
        """Let built-in packs use every part, which they find by its type."""
        for parts in (self, self.tools):
            self.executor.lend(*(getattr(parts, each.name) for each in fields(parts)))
        self._lend_built()

    def _lend_built(self) -> None:
        """Lend the parts that keep no state, and are simply built again with each configuration."""
        loaded, executor, tools, settings = self.loaded, self.executor, self.tools, self.config.execution
        health = Health(executor, self.supply, tools.workers, tools.servers, tools.threads, loaded, settings)
        statistics = build_statistics(loaded, executor.recorder, tools.registry, self.own_definition)
        access = ModelAccess(loaded.secrets, self.redactor, executor.recorder, executor.telemetry, executor.limits)
        executor.lend(build_allowed_files(loaded), statistics, health, access, loaded)

    async def follow(self, loaded: LoadedConfig) -> list[str]:
        """Hand a configuration to every part while runs go on; return the keys whose change waits for the next start.

        A run keeps the settings that it began with.
        """
        tools, config = self.tools, loaded.config
        files = await anyio.to_thread.run_sync(tools.built_in.look)
        # From here to the end of the paragraph nobody else runs: no run begins with half of it.
        for secret in loaded.secrets.known_values():
            self.redactor.learn(secret)  # and the old ones stay hidden: runs in flight may hold them
        tools.registry.trust_reads(reads_of(config))
        self.executor.apply(config, loaded.secrets)
        self.runner.settings = run_settings(loaded, memory=self.config.execution.memory)
        self.namespace.apply(config.aliases, config.projects, loaded.untrusted.aliases)
        note_absent(tools.registry, loaded)
        self.supply.keep_warm(config.execution.warm)
        self.results.apply(config.results)
        self.reader.apply(config.results)
        before, other_secrets = self.loaded.config.packs, self.loaded.secrets != loaded.secrets
        tools.workers.apply(
            config.workers, renew=lambda pack: other_secrets or before.get(pack) != config.packs.get(pack)
        )
        self.loaded = loaded
        self._lend_built()
        tools.registry.problems += tools.places.switch(config.packs)
        tools.extensions.apply(timeout=config.workers.call_timeout)
        if files is not None:
            forget = tools.isolates.forget  # processes that have imported a pack as it was
            tools.built_in.apply(files, tools.places, changed=lambda file: forget(module_reference(file)))

        await tools.extensions.catch_up(at_once=True)
        await tools.skills.catch_up(at_once=True)
        await tools.servers.apply(config.servers)
        return self._waiting()

    def _waiting(self) -> list[str]:
        paths = [key.path for key in known_keys() if key.when == NEXT_START]
        # A mapping of names counts as one key.
        names = dict.fromkeys(".".join(itertools.takewhile(lambda part: part != ANY, path)) for path in paths)
        before, now = self.config, self.loaded.config
        keys = [name for name in names if operator.attrgetter(name)(before) != operator.attrgetter(name)(now)]
        return keys + (["the project's folder"] if self.started.project != self.loaded.project else [])


def run_settings(loaded: LoadedConfig, *, memory: int | None = None) -> RunSettings:
    """Return the settings of runs; `memory` is that of the kernels that are already there."""
    execution, results = loaded.config.execution, loaded.config.results
    snippets = Snippets(loaded.config.snippets, loaded.untrusted, wrong=wrong_entries(loaded, "snippets"))
    return RunSettings(
        timeout=execution.timeout,
        patience=execution.patience,
        memory=memory or execution.memory,
        inline_limit=results.inline_limit,
        share=loaded.config.limits.concurrent_runs or 0,
        snippets=snippets,
        ask_within=loaded.config.policy.ask_timeout,
        ask_command=loaded.config.policy.ask_command,
        looks_ahead=loaded.config.policy.preview,
    )
