"""App: the parts of an engine, listed once: fronts use them, packs find them by type, and a reload reaches them."""

from __future__ import annotations

from dataclasses import field, fields

from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.config.paths import PackFolders
from ot.config.personal_secrets import PersonalSecrets
from ot.errors import PackLoadError
from ot.execution.tool_executor import ToolExecutor
from ot.files.watches import FolderWatches
from ot.introspect import Finder, Reload
from ot.journal.journal import Journal
from ot.kernel.supply import KernelSupply
from ot.parts.person_overlay import PersonOverlay
from ot.parts.tools import Tools
from ot.proxy import Servers
from ot.registry.registry import ToolRegistry
from ot.results.kept_values import KeptValues
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.namespace import Namespace
from ot.run.runner import Runner
from ot.run.runs import Runs
from ot.services.rate_limits import RateLimits
from ot.shapes.shapes import Shapes
from ot.text.redaction import Redactor
from ot.workers.pool import WorkerPool


@dataclass(slots=True, kw_only=True)
class App:
    """An engine that serves one person."""

    config: Config
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
    reload: Reload = field(init=False)

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

    @property
    def own_secrets(self) -> PersonalSecrets | None:
        """The secrets of one of many people; None where a person's secrets are files of theirs."""
        return self.own.secrets

    def lend_all(self) -> None:
        """Let built-in packs use every part, which they find by its type."""
        for parts in (self, self.tools):
            self.executor.lend(*(getattr(parts, each.name) for each in fields(parts)))
