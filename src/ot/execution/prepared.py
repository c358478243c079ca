"""Tools prepared for calls: checker, time limit and policy are worked out once, not with every call."""

from __future__ import annotations

from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.effects import Effect
from ot.execution.rules import Guard, build_guard
from ot.execution.validation import ArgumentCheck
from ot.registry.definitions import PROXY, ToolDefinition
from ot.registry.registry import RegisteredTool, ToolFunction, ToolRegistry

DEFAULT_LIMIT = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class PreparedTool:
    """A registered tool, ready to be called."""

    registered: RegisteredTool
    definition: ToolDefinition
    function: ToolFunction
    check: ArgumentCheck
    limit: float  # seconds
    limit_key: str  # of the configuration
    effect: Effect
    audited: bool
    guard: Guard
    refused: bool  # every call of it
    simple: bool  # there is nothing to ask and nothing to remember


class Preparation:
    """Prepares each tool on its first call, and again after it has been registered again."""

    def __init__(self, registry: ToolRegistry, config: Config) -> None:
        self._registry = registry
        self._config = config
        self._prepared: dict[str, PreparedTool] = {}

    def of(self, name: str) -> PreparedTool:
        """Raises UnknownPackError or UnknownToolError."""
        registered = self._registry.find(name)
        prepared = self._prepared.get(name)
        if prepared is None or prepared.registered is not registered:
            prepared = self._prepared[name] = self._prepare(registered)
        return prepared

    def _prepare(self, registered: RegisteredTool) -> PreparedTool:
        definition = registered.definition
        pack = self._config.packs.get(definition.pack)
        own_limit = (pack and pack.timeout) or definition.timeout or DEFAULT_LIMIT
        guard = build_guard(definition.all_names, self._config.policy)
        return PreparedTool(
            registered,
            definition,
            registered.function,
            ArgumentCheck(definition),
            own_limit,
            f"packs.{definition.pack}.timeout",
            definition.effect,
            _is_audited(definition),
            guard,
            guard.refused or bool(definition.lacks),
            guard.simple,
        )


def _is_audited(definition: ToolDefinition) -> bool:
    """True for calls with effect; a server cannot keep its own calls out of the log by hinting that they only read."""
    hinted = definition.source.startswith(PROXY) and not definition.known_to_read
    return hinted or definition.effect is not Effect.READS
