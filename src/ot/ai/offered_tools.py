"""The tools that a model is offered, with names and schemas that every provider accepts, and the way back.

Providers want names of letters, digits, _ and -; ours have a dot, and those of other servers may have anything. A
schema is an object without alternatives at its top; what is lost only makes it weaker, since the executor checks every
call against the tool's own schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import ClassVar

from mcp_core.json_types import Json, JsonObject, Schema, list_of, mapping_of
from mcp_core.quick_dataclass import dataclass, field
from ot.ai.messages import ToolOffer
from ot.config.values import RUN_TOOL
from ot.execution.wording import list_names
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.registry.schema_copy import NUMBERS, SIZES, Reader, SchemaCopy, names_in, read_type

MAX_PROPERTIES = 200
_LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
LONGEST = 64
MOST_DESCRIPTION = 8000  # characters
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_RUN_PACK = RUN_TOOL.partition(".")[0]


def acceptable(parameters: Schema) -> tuple[JsonObject, dict[str, str]]:
    """Return the schema of a tool's parameters as a model is shown it, and its own names of those that were renamed."""
    copying = _ShownCopy(parameters)
    properties, required = _gather(parameters, copying)
    renamed = {}
    shown: JsonObject = {}
    for name, schema in list(properties.items())[:MAX_PROPERTIES]:
        legal = name
        if name in shown or not _LEGAL.fullmatch(name):
            legal = marked(re.sub(r"[^a-zA-Z0-9_.-]", "_", name), name)
            renamed[legal] = name
        shown[legal] = copying.copy(schema, 1)
    found: JsonObject = {"type": "object", "properties": shown}
    wanted: list[Json] = [legal for legal in shown if renamed.get(legal, legal) in required]
    if wanted:
        found["required"] = wanted
    if parameters.get("additionalProperties") is False and not any(key in parameters for key in _ALTERNATIVES):
        found["additionalProperties"] = False
    return found, renamed


def _gather(parameters: Schema, copying: _ShownCopy) -> tuple[JsonObject, set[str]]:
    """Gather all parameters, also those in alternatives; only what every alternative demands is required."""
    properties: JsonObject = {}
    required = set(names_in(parameters.get("required")))
    inner = [copying.resolve(branch) for key in _ALTERNATIVES for branch in list_of(parameters.get(key))]
    for branch in (parameters, *inner):
        for name, schema in mapping_of(branch.get("properties")).items():
            properties.setdefault(name, schema)
    for part in list_of(parameters.get("allOf")):
        required.update(names_in(copying.resolve(part).get("required")))
    return properties, required


def marked(legal: str, name: str) -> str:
    """Return the beginning of a legal name with a hash of the whole one, 64 characters at most."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{legal[:55]}_{mark}"


def _kept_if(fits: Callable[[Json], object]) -> Reader:
    return lambda copy, keyword, value, level: {keyword: value} if fits(value) else {}


def _read_properties(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    chosen = list(mapping_of(value).items())[:MAX_PROPERTIES]
    return {keyword: {str(name): copy.copy(inner, level + 1) for name, inner in chosen}} if chosen else {}


def _read_branches(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    branches: list[Json] = [copy.copy(branch, level + 1) for branch in list_of(value)]
    return {"allOf" if keyword == "allOf" else "anyOf": branches} if branches else {}


class _ShownCopy(SchemaCopy):
    """A copy of the parts of a schema that providers understand."""

    max_nodes = 2000  # references may fan out
    max_levels = 12
    with_siblings = True
    readers: ClassVar[Mapping[str, Reader]] = {
        **dict.fromkeys(("title", "description", "format"), _kept_if(lambda value: isinstance(value, str))),
        **NUMBERS,
        **SIZES,
        "type": read_type,
        "enum": _kept_if(lambda value: isinstance(value, list) and value),
        "const": lambda copy, keyword, value, level: {"enum": [value]},
        "default": _kept_if(lambda value: not isinstance(value, dict | list)),
        "items": lambda copy, keyword, value, level: (
            {keyword: copy.copy(value, level + 1)} if isinstance(value, Mapping) else {}
        ),
        "properties": _read_properties,
        "additionalProperties": _kept_if(lambda value: isinstance(value, bool)),
        **dict.fromkeys(_ALTERNATIVES, _read_branches),
    }

    def finish(self, schema: Schema, found: JsonObject, level: int) -> None:
        wanted = names_in(schema.get("required"))
        required: list[Json] = [name for name in mapping_of(found.get("properties")) if name in wanted]
        if required:
            found["required"] = required


@dataclass(frozen=True, slots=True)
class OfferedTool:
    offer: ToolOffer
    tool: str
    renamed: Mapping[str, str] = field(default_factory=dict)  # parameters, by the names that the model uses

    def arguments(self, given: Mapping[str, Json]) -> JsonObject:
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
        way = " Call every other tool from the code that run executes." if self._tools.keys() == {"run"} else ""
        return f"There is no tool {name!r}. Tools: {list_names(name, self._tools)}.{way}"


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
        if not _is_chosen(definition.name, patterns):
            continue
        name = "run" if definition.name == RUN_TOOL else legal_name(definition.name)
        if name in taken:
            name = marked(name, definition.name)
        taken.add(name)
        schema, renamed = acceptable(definition.parameters)
        tools.append(OfferedTool(ToolOffer(name, _describe(definition), schema), definition.name, renamed))
    return OfferedTools(tools)


def _is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """True if a pattern matches; the tool that runs code must be named itself."""
    if name.startswith(f"{_RUN_PACK}."):
        patterns = [pattern for pattern in patterns if pattern.startswith(f"{_RUN_PACK}.")]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


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
