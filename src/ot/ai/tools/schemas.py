"""JSON Schemas that every provider takes: an object without alternatives at its top, and plain names of parameters.

What is lost only makes the schema weaker. The executor checks every call against the tool's own schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from mcp_core.json_types import Json, JsonObject, Schema, list_of, mapping_of
from ot.registry.schema_copy import NUMBERS, SIZES, Reader, SchemaCopy, names_in, read_type

MAX_PROPERTIES = 200

_LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def acceptable(parameters: Schema) -> tuple[JsonObject, dict[str, str]]:
    """Return the schema of a tool's parameters as a model is shown it, and its own names of those that were renamed."""
    copying = _ShownCopy(parameters)
    properties, required = _gather(parameters, copying)
    renamed = {}
    shown: JsonObject = {}
    for name, schema in list(properties.items())[:MAX_PROPERTIES]:
        legal = _legal(name, shown)
        if legal != name:
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
    for branch in _branches(parameters, copying):
        for name, schema in mapping_of(branch.get("properties")).items():
            properties.setdefault(name, schema)
    for part in list_of(parameters.get("allOf")):
        required.update(names_in(copying.resolve(part).get("required")))
    return properties, required


def _branches(parameters: Schema, copying: _ShownCopy) -> Iterator[Schema]:
    yield parameters
    for key in _ALTERNATIVES:
        for branch in list_of(parameters.get(key)):
            yield copying.resolve(branch)


def _legal(name: str, taken: Mapping[str, object]) -> str:
    if _LEGAL.fullmatch(name) and name not in taken:
        return name
    return marked(re.sub(r"[^a-zA-Z0-9_.-]", "_", name), name)


def marked(legal: str, name: str) -> str:
    """Return the beginning of a legal name with a hash of the whole one, 64 characters at most."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{legal[:55]}_{mark}"


def _read_text(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    return {keyword: value} if isinstance(value, str) else {}


def _read_enum(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    return {"enum": value} if isinstance(value, list) and value else {}


def _read_default(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    return {keyword: value} if not isinstance(value, dict | list) else {}


def _read_items(copy: SchemaCopy, keyword: str, value: Json, level: int) -> JsonObject:
    return {keyword: copy.copy(value, level + 1)} if isinstance(value, Mapping) else {}


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
        **dict.fromkeys(("title", "description", "format"), _read_text),
        **NUMBERS,
        **SIZES,
        "type": read_type,
        "enum": _read_enum,
        "const": lambda copy, keyword, value, level: {"enum": [value]},
        "default": _read_default,
        "items": _read_items,
        "properties": _read_properties,
        "additionalProperties": lambda copy, keyword, value, level: {keyword: value} if isinstance(value, bool) else {},
        **dict.fromkeys(_ALTERNATIVES, _read_branches),
    }

    def finish(self, schema: Schema, found: JsonObject, level: int) -> None:
        wanted = names_in(schema.get("required"))
        required: list[Json] = [name for name in mapping_of(found.get("properties")) if name in wanted]
        if required:
            found["required"] = required
