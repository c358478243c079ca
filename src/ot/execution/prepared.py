"""Tools prepared for calls: checker, time limit and policy are worked out once, not with every call."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from ot.config.models import Config
from ot.effects import Effect
from ot.execution.validation import ArgumentCheck
from ot.registry.definitions import ToolDefinition
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
    effect: Effect
    denied_by: str | None  # the rule of `policy.deny`
    asked_by: str | None  # the rule of `policy.ask`


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
        policy = self._config.policy
        pack = self._config.packs.get(definition.pack)
        own_limit = (pack and pack.timeout) or definition.timeout or DEFAULT_LIMIT
        return PreparedTool(
            registered,
            definition,
            registered.function,
            ArgumentCheck(definition),
            own_limit,
            definition.effect,
            first_rule(definition, policy.deny),
            first_rule(definition, policy.ask),
        )


def first_rule(definition: ToolDefinition, rules: tuple[str, ...]) -> str | None:
    """Return the first rule that names a tool, by any of its names."""
    own_name = f"{definition.pack}.{definition.original}" if definition.original else None
    names = [name for name in (definition.name, definition.moved_from, own_name) if name]
    return next((rule for rule in rules if any(fnmatchcase(name, rule) for name in names)), None)
