"""LiveConfig: hands a reloaded configuration to every part that depends on it, while runs go on."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.config.keys import ANY, known_keys
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.config.settings import NEXT_START
from ot.errors import UntrustedPackError, WrongAliasError, WrongSettingsError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.kernel.supply import KernelSupply
from ot.parts.known_tools import reads_of
from ot.proxy import Servers
from ot.registry.built_in import BuiltInPacks
from ot.registry.identifiers import identifier
from ot.registry.names import modest_name
from ot.registry.places import PackPlaces
from ot.registry.registry import AbsentPack, ToolRegistry
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.namespace import Namespace
from ot.run.runner import Runner, RunSettings
from ot.run.snippets import Snippets
from ot.skills.skill_loader import SkillLoader
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.pool import WorkerPool


@dataclass(frozen=True, slots=True)
class LiveParts:
    """Everything that holds a part of the configuration."""

    executor: ToolExecutor
    runner: Runner
    namespace: Namespace
    supply: KernelSupply
    workers: WorkerPool
    extensions: ExtensionLoader
    skills: SkillLoader
    servers: Servers
    results: ResultStore
    reader: ResultReader
    built_in: BuiltInPacks
    places: PackPlaces
    forget_helpers: Callable[[Path], None]  # processes that have imported a pack as it was
    rebuild: Callable[[LoadedConfig], None]  # what keeps no state, and is simply rebuilt


class LiveConfig:
    """Keeps the configuration in force. A run keeps the settings that it began with; calls in flight go on."""

    def __init__(self, started: LoadedConfig, parts: LiveParts) -> None:
        self._started = started
        self._loaded = started
        self._parts = parts

    async def follow(self, loaded: LoadedConfig) -> list[str]:
        """Hand a configuration to every part; return the keys whose change waits for the next start."""
        parts, config = self._parts, loaded.config
        files = await anyio.to_thread.run_sync(parts.built_in.look)
        # From here to the end of the paragraph nobody else runs: no run begins with half of it.
        for secret in loaded.secrets.known_values():
            parts.executor.redactor.learn(secret)  # and the old ones stay hidden: runs in flight may hold them
        parts.executor.registry.trust_reads(reads_of(config))
        parts.executor.apply(config, loaded.secrets)
        parts.runner.apply(run_settings(loaded, memory=self._started.config.execution.memory))
        parts.namespace.apply(config.aliases, config.projects, modest=loaded.untrusted.aliases)
        note_absent(parts.executor.registry, loaded)
        parts.supply.keep_warm(config.execution.warm)
        parts.results.apply(config.results)
        parts.reader.apply(config.results)
        parts.workers.apply(config.workers, renew=self._changed_packs(loaded))
        parts.rebuild(loaded)
        parts.executor.registry.problems += parts.places.switch(config.packs)
        parts.extensions.apply(timeout=config.workers.call_timeout)
        if files is not None:
            parts.built_in.apply(files, parts.places, changed=parts.forget_helpers)
        self._loaded = loaded

        await parts.extensions.catch_up(at_once=True)
        await parts.skills.catch_up(at_once=True)
        await parts.servers.apply(config.servers)
        return self._waiting()

    def _changed_packs(self, loaded: LoadedConfig) -> Callable[[str], bool]:
        """Return a test for packs whose workers need a restart: their settings have changed, or any secret has."""
        before, now = self._loaded.config.packs, loaded.config.packs
        if loaded.secrets != self._loaded.secrets:
            return lambda _: True
        return lambda pack: before.get(pack) != now.get(pack)

    def _waiting(self) -> list[str]:
        before, now = self._started.config, self._loaded.config
        keys = [name for name, value_of in _read_at_start() if value_of(before) != value_of(now)]
        return keys + (["the project's folder"] if self._started.project != self._loaded.project else [])


def _read_at_start() -> Iterator[tuple[str, Callable[[Config], object]]]:
    """The keys that are read once, at the start, and how to read each; a mapping of names counts as one."""
    paths = [key.path for key in known_keys() if key.when == NEXT_START]
    for name in dict.fromkeys(".".join(itertools.takewhile(lambda part: part != ANY, path)) for path in paths):
        yield name, operator.attrgetter(name)


def note_absent(registry: ToolRegistry, loaded: LoadedConfig) -> None:
    """Let the registry know the packs and servers that are not here because of the configuration, by name."""
    _note_mistakes(registry, loaded)
    _note_untrusted(registry, loaded)


def _note_untrusted(registry: ToolRegistry, loaded: LoadedConfig) -> None:
    """Let the registry know the servers of a project that nobody has trusted, by name."""
    servers = [server for server in loaded.untrusted.servers if server not in loaded.config.servers]
    names = [modest_name(identifier(server, fallback="server")) for server in servers]
    project = str(loaded.untrusted.project)
    explain = {name: partial(UntrustedPackError, name, project=project) for name in names}
    registry.explain_absent("untrusted", {name: AbsentPack(each, expected=False) for name, each in explain.items()})


def _note_mistakes(registry: ToolRegistry, loaded: LoadedConfig) -> None:
    """Let the registry know the packs, servers and aliases that are off, because their settings are wrong."""
    servers = wrong_entries(loaded, "servers")
    packs = {mistake.pack: word_error(mistake.error) for mistake in reversed(loaded.mistakes) if mistake.pack}
    wrong = {identifier(name, fallback="server"): mistake for name, mistake in (packs | servers).items()}
    explain = {name: partial(WrongSettingsError, name, mistake) for name, mistake in wrong.items()}
    aliases = wrong_entries(loaded, "aliases").items()
    registry.explain_aliases({name: partial(WrongAliasError, name, mistake) for name, mistake in aliases})
    registry.explain_absent("mistakes", {name: AbsentPack(each, expected=True) for name, each in explain.items()})


def wrong_entries(loaded: LoadedConfig, section: str) -> dict[str, str]:
    """Return the names in a section that are off because of a mistake, and each one's first mistake in words."""
    found = [mistake for mistake in loaded.mistakes if mistake.entry[0] == section and len(mistake.entry) > 1]
    return {mistake.entry[1]: word_error(mistake.error) for mistake in reversed(found)}


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
    )
