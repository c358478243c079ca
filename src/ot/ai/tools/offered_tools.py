"""The tools that a model is offered, with names and schemas that every provider accepts, and the way back.

Providers want names of letters, digits, _ and -; ours have a dot, and those of other servers may have anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass, field
from ot.ai.models.model import ToolOffer
from ot.ai.tools.schemas import acceptable, marked
from ot.config.values import RUN_TOOL
from ot.execution.wording import list_names
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry

LONGEST = 64
MOST_DESCRIPTION = 8000  # characters

_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_RUN_PACK = RUN_TOOL.partition(".")[0]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool: what the model sees, and what it stands for."""

    offer: ToolOffer
    tool: str
    renamed: Mapping[str, str] = field(default_factory=dict)  # parameters, by the names that the model uses

    def arguments(self, given: Mapping[str, Json]) -> JsonObject:
        """Return the arguments under the tool's own names."""
        return {self.renamed.get(name, name): value for name, value in given.items()}


class OfferedTools:
    """The tools of one conversation, as the registry has them now."""

    def __init__(self, tools: Sequence[OfferedTool]) -> None:
        self._tools = {tool.offer.name: tool for tool in tools}
        self.offers = tuple(tool.offer for tool in tools)

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, name: str) -> OfferedTool | None:
        """Return the tool that the model means by a name; nothing that was not offered can be meant."""
        return self._tools.get(name) or self._tools.get(legal_name(name))

    def explain_unknown(self, name: str) -> str:
        """Return the words for a model that asked for something else."""
        names = list_names(name, self._tools)
        way = ""
        if self._tools.keys() == {"run"}:
            way = " Call every other tool from the code that run executes."
        return f"There is no tool {name!r}. Tools: {names}.{way}"


def find_chosen(registry: ToolRegistry, patterns: Sequence[str]) -> list[ToolDefinition]:
    """Return the definitions that may fit; if every tool is named in full, no other is looked at or loaded."""
    if any(char in pattern for pattern in patterns for char in "*?["):
        return registry.definitions()
    return [registry.get(name) for name in patterns if registry.has(name)]


def offer_tools(definitions: Iterable[ToolDefinition], patterns: Sequence[str]) -> OfferedTools:
    """Offer the tools whose names match a pattern; if two would look alike, the second is marked."""
    tools: list[OfferedTool] = []
    taken: set[str] = set()
    for definition in sorted(definitions, key=lambda one: one.name):
        if _is_chosen(definition.name, patterns):
            tool = _offer(definition, taken)
            taken.add(tool.offer.name)
            tools.append(tool)
    return OfferedTools(tools)


def _is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """True if a pattern matches; the tool that runs code must be named itself."""
    if name.startswith(f"{_RUN_PACK}."):
        patterns = [pattern for pattern in patterns if pattern.startswith(f"{_RUN_PACK}.")]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _offer(definition: ToolDefinition, taken: set[str]) -> OfferedTool:
    name = "run" if definition.name == RUN_TOOL else legal_name(definition.name)
    if name in taken:
        name = marked(name, definition.name)
    schema, renamed = acceptable(definition.parameters)
    return OfferedTool(ToolOffer(name, _describe(definition), schema), definition.name, renamed)


def _describe(definition: ToolDefinition) -> str:
    docs = definition.docs
    parts = [definition.description.strip()]
    parts += [part for part in (docs.body.strip(),) if part and part not in parts[0]]
    parts += [f"Returns: {docs.returns.strip()}"] if docs.returns.strip() else []
    return "\n\n".join(parts)[:MOST_DESCRIPTION]


def legal_name(name: str) -> str:
    """Return a name that every provider accepts; a long one keeps its beginning and gets a hash of the whole."""
    legal = _ODD.sub("_", name) or "_"
    return legal if len(legal) <= LONGEST else marked(legal, name)
