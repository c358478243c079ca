"""A tool as its calls need it: time limit, effect and policy are worked out once, not with every call."""

from __future__ import annotations

from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.effects import Effect
from ot.execution.rules import Guard, build_guard
from ot.registry.definitions import PROXY, ToolDefinition
from ot.registry.registry import RegisteredTool, ToolFunction

DEFAULT_LIMIT = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class PreparedTool:
    """A registered tool, and what the configuration says of it."""

    registered: RegisteredTool
    definition: ToolDefinition
    function: ToolFunction
    limit: float  # seconds
    limit_key: str  # of the configuration
    effect: Effect
    audited: bool
    guard: Guard


def prepare_tool(registered: RegisteredTool, config: Config) -> PreparedTool:
    """Work out what calls of a tool need."""
    definition = registered.definition
    pack = config.packs.get(definition.pack)
    return PreparedTool(
        registered,
        definition,
        registered.function,
        (pack and pack.timeout) or definition.timeout or DEFAULT_LIMIT,
        f"packs.{definition.pack}.timeout",
        definition.effect,
        _is_audited(definition),
        build_guard(definition.all_names, config.policy),
    )


def _is_audited(definition: ToolDefinition) -> bool:
    """True for calls with side effects; a server cannot keep its own out of the log by hinting that they only read."""
    hinted = definition.source.startswith(PROXY) and not definition.known_to_read
    return hinted or definition.effect is not Effect.READS
