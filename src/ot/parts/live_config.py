"""LiveConfig: hands a reloaded configuration to every part that depends on it, while runs go on."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator

import anyio.to_thread

from ot.config.keys import ANY, known_keys
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.config.settings import NEXT_START
from ot.parts.app_parts import App
from ot.parts.known_tools import note_absent, reads_of, wrong_entries
from ot.registry.pack_module import module_reference
from ot.run.runner import RunSettings
from ot.run.snippets import Snippets


class LiveConfig:
    """Keeps the configuration in force. A run keeps the settings that it began with; calls in flight go on."""

    def __init__(self, started: LoadedConfig, app: App, rebuild: Callable[[LoadedConfig], None]) -> None:
        """`rebuild` lends the parts that keep no state, and are simply built again."""
        self._started = started
        self._loaded = started
        self._app = app
        self._rebuild = rebuild

    async def follow(self, loaded: LoadedConfig) -> list[str]:
        """Hand a configuration to every part; return the keys whose change waits for the next start."""
        app, tools, config = self._app, self._app.tools, loaded.config
        files = await anyio.to_thread.run_sync(tools.built_in.look)
        # From here to the end of the paragraph nobody else runs: no run begins with half of it.
        for secret in loaded.secrets.known_values():
            app.redactor.learn(secret)  # and the old ones stay hidden: runs in flight may hold them
        tools.registry.trust_reads(reads_of(config))
        app.executor.apply(config, loaded.secrets)
        app.runner.apply(run_settings(loaded, memory=self._started.config.execution.memory))
        app.namespace.apply(config.aliases, config.projects, modest=loaded.untrusted.aliases)
        note_absent(tools.registry, loaded)
        app.supply.keep_warm(config.execution.warm)
        app.results.apply(config.results)
        app.reader.apply(config.results)
        tools.workers.apply(config.workers, renew=self._changed_packs(loaded))
        self._rebuild(loaded)
        tools.registry.problems += tools.places.switch(config.packs)
        tools.extensions.apply(timeout=config.workers.call_timeout)
        if files is not None:
            tools.built_in.apply(
                files, tools.places, changed=lambda file: tools.isolates.forget(module_reference(file))
            )
        self._loaded = loaded

        await tools.extensions.catch_up(at_once=True)
        await tools.skills.catch_up(at_once=True)
        await tools.servers.apply(config.servers)
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
