"""The parameters of somebody else's tool, out of the JSON Schema that its server gives, whatever that holds.

The schema is copied within limits, and brought into the form that the rest of the engine relies on: an object whose
`properties` stand in the order of positional arguments, the required ones first, and whose `required` names are all
among them. Where the schema lists its properties and leaves open whether there may be others, there may not: a
misspelt keyword would otherwise vanish in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcp_core.json_types import Json, JsonObject, resolve
from mcp_core.quick_dataclass import dataclass
from ot.registry.names import assign_identifiers
from ot.registry.schema_copy import names_in

MAX_NODES = 20_000
MAX_LEVELS = 60
MAX_TEXT = 2_000
_TEXT_PER_NODE = 100  # characters
_MERGED = 4  # levels of schemas inside schemas that may name parameters
# Where one of these stands, parameters may be named in places that a signature cannot show.
_OPENING = (
    "additionalProperties", "allOf", "anyOf", "dependencies", "dependentSchemas", "if", "not", "oneOf",
    "patternProperties", "propertyNames", "unevaluatedProperties",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its own name, the one that code can write, and the schema that says most about it."""

    name: str
    shown: str
    schema: object
    required: bool


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters of a tool: the schema to check a call by, and the parameters in positional order."""

    schema: JsonObject
    listed: tuple[Parameter, ...]
    problem: str = ""

    @property
    def spellings(self) -> dict[str, str]:
        """For each parameter whose own name is no identifier: the name that code writes, to its own."""
        return {one.shown: one.name for one in self.listed if one.shown != one.name}


def read_parameters(schema: Json) -> Parameters:
    """Read a tool's `inputSchema`; one that cannot be used accepts anything, and `problem` says why."""
    if schema is None or schema is True or schema == {}:
        return Parameters({"type": "object"}, ())
    if not isinstance(schema, dict):
        return _unchecked("its inputSchema is not an object")
    try:
        document = _Copy().copy(schema, 0)
    except _TooLargeError:
        names = schema.get("properties")
        bare: JsonObject = {str(name): {} for name in list(names)[:MAX_NODES]} if isinstance(names, dict) else {}
        found = _arrange({"type": "object", "properties": bare, "required": schema.get("required")}, {})
        return Parameters(found.schema, found.listed, "its inputSchema is too large: only names are checked")
    target = resolve(document, document)
    if not isinstance(document, dict) or not isinstance(target, dict):
        return _unchecked("its inputSchema refers to a schema that is not part of it")
    kinds = target.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return _unchecked("its inputSchema does not describe an object")
    # What its own `$ref` leads to takes its place; references inside it stay true.
    rest = {key: item for key, item in document.items() if key != "$ref"}
    if document is target or "properties" not in rest:
        return _arrange({**rest, **target}, document)
    return _arrange({**rest, "allOf": [*_items(rest.get("allOf")), target]}, document)


def _unchecked(problem: str) -> Parameters:
    return Parameters({"type": "object"}, (), f"{problem}: arguments are not checked")


def _arrange(schema: JsonObject, document: JsonObject) -> Parameters:
    merged = _Merged(document)
    merged.add(schema, certain=True, level=0)
    required = dict.fromkeys(merged.required)
    names = [*required, *(name for name in merged.shown if name not in required)]
    shown = assign_identifiers(names, fallback="parameter")
    listed = tuple(Parameter(name, shown[name], merged.shown.get(name, {}), name in required) for name in names)
    properties = {name: merged.checked.get(name, {}) for name in names}
    arranged: JsonObject = {**schema, "type": "object", "properties": properties, "required": [*required]}
    if not required:
        del arranged["required"]
    if names and not any(keyword in schema for keyword in _OPENING):
        arranged["additionalProperties"] = False
    return Parameters(arranged, listed)


class _Merged:
    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self.shown: JsonObject = {}  # what the signature says
        self.checked: JsonObject = {}  # what is certain to hold
        self.required: list[str] = []

    def add(self, schema: object, *, certain: bool, level: int) -> None:
        """Collect from one schema; one of several alternatives (not `certain`) demands nothing."""
        schema = resolve(self._document, schema)
        if not isinstance(schema, dict) or level > _MERGED:
            return
        properties = schema.get("properties")
        for name, item in properties.items() if isinstance(properties, dict) else ():
            known = item if isinstance(item, dict) else {}
            self.shown.setdefault(name, known)
            text = known.get("description")
            described: JsonObject = {"description": text} if isinstance(text, str) else {}
            self.checked.setdefault(name, known if certain and not level else described)
        if certain:
            self.required += names_in(schema.get("required"))
        for branch in _items(schema.get("allOf")):
            self.add(branch, certain=certain, level=level + 1)
        for keyword in ("anyOf", "oneOf"):
            branches = list(_items(schema.get(keyword)))
            for branch in branches:
                self.add(branch, certain=certain and len(branches) == 1, level=level + 1)


def _items(value: object) -> Iterator[Json]:
    return iter(value if isinstance(value, list) else ())


class _TooLargeError(Exception):
    """More of a schema than anybody could use."""


class _Copy:
    """A copy of JSON with a budget; texts for people are cut."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def copy(self, value: Json, level: int) -> Json:
        self._left -= 1
        if self._left < 0 or level > MAX_LEVELS:
            raise _TooLargeError
        if isinstance(value, dict):
            return {
                key: self._text(_cut(key, item)) if type(item) is str else self.copy(item, level + 1)
                for key, item in value.items()
                if type(key) is str
            }
        if isinstance(value, list):
            return [self.copy(item, level + 1) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        self._left -= 1 + len(text) // _TEXT_PER_NODE
        return text


def _cut(key: str, text: str) -> str:
    """Shorten a description; a parameter may be called `description` too, and is a schema then."""
    return f"{text[:MAX_TEXT]}…" if key == "description" and len(text) > MAX_TEXT else text
