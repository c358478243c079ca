"""JSON Schemas that every provider takes: an object without alternatives at its top, and plain names of parameters.

What is lost only makes the schema weaker. The executor checks every call against the tool's own schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

MAX_DEPTH = 12
MAX_PROPERTIES = 200
MAX_NODES = 2000  # references may fan out

_LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TYPES = frozenset({"null", "boolean", "number", "integer", "string", "array", "object"})
_TEXTS = ("title", "description", "format")
_NUMBERS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def acceptable(parameters: Mapping[str, Any]) -> tuple[Schema, dict[str, str]]:
    """The schema of a tool's parameters as a model is shown it, and its own names of those that were renamed."""
    copying = _Copying(parameters)
    properties, required = _gather(parameters, copying)
    renamed = {}
    shown: Schema = {}
    for name, schema in list(properties.items())[:MAX_PROPERTIES]:
        legal = _legal(name, shown)
        if legal != name:
            renamed[legal] = name
        shown[legal] = copying.copy(schema, 1)
    found: Schema = {"type": "object", "properties": shown}
    wanted = [legal for legal in shown if renamed.get(legal, legal) in required]
    if wanted:
        found["required"] = wanted
    if parameters.get("additionalProperties") is False and not any(key in parameters for key in _ALTERNATIVES):
        found["additionalProperties"] = False
    return found, renamed


def _gather(parameters: Mapping[str, Any], copying: _Copying) -> tuple[dict[str, Any], set[str]]:
    """All parameters, also those that stand in alternatives; only what every alternative demands is required."""
    properties: dict[str, Any] = {}
    required = _names(parameters.get("required"))
    for branch in _branches(parameters, copying):
        for name, schema in _mapping(branch.get("properties")).items():
            properties.setdefault(name, schema)
    for part in parameters.get("allOf") or () if isinstance(parameters.get("allOf"), list) else ():
        required |= _names(_mapping(copying.resolve(part)).get("required"))
    return properties, required


def _branches(parameters: Mapping[str, Any], copying: _Copying) -> Iterator[Mapping[str, Any]]:
    yield parameters
    for key in _ALTERNATIVES:
        for branch in parameters.get(key) or () if isinstance(parameters.get(key), list) else ():
            yield _mapping(copying.resolve(branch))


def _legal(name: str, taken: Mapping[str, Any]) -> str:
    if _LEGAL.fullmatch(name) and name not in taken:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{re.sub(r'[^a-zA-Z0-9_.-]', '_', name)[:55]}_{mark}"


class _Copying:
    """Copies what providers understand of a schema; references within it are replaced by what they point to."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = MAX_NODES

    def resolve(self, schema: Any) -> Any:
        """What a local reference leads to; an empty schema where it leads away or in a circle."""
        for _ in range(10):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                return schema
            schema = {**_look_up(self._root, schema["$ref"]), **{k: v for k, v in schema.items() if k != "$ref"}}
        return {}

    def copy(self, schema: Any, depth: int) -> Schema:
        """One schema; `{}` accepts everything."""
        self._nodes -= 1
        schema = self.resolve(schema)
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._nodes < 0:
            return {}
        found: Schema = {}
        for key in _TEXTS:
            if isinstance(schema.get(key), str):
                found[key] = schema[key]
        for key in _NUMBERS:
            if type(schema.get(key)) in (int, float):
                found[key] = schema[key]
        self._copy_type(schema, found)
        self._copy_values(schema, found)
        self._copy_inner(schema, found, depth)
        return found

    def _copy_type(self, schema: Mapping[str, Any], found: Schema) -> None:
        types = schema.get("type")
        names = types if isinstance(types, list) else [types]
        if names and all(isinstance(name, str) and name in _TYPES for name in names):
            found["type"] = types

    def _copy_values(self, schema: Mapping[str, Any], found: Schema) -> None:
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            found["enum"] = schema["enum"]
        if "const" in schema:
            found["enum"] = [schema["const"]]
        if "default" in schema and not isinstance(schema["default"], dict | list):
            found["default"] = schema["default"]

    def _copy_inner(self, schema: Mapping[str, Any], found: Schema, depth: int) -> None:
        if isinstance(schema.get("items"), Mapping):
            found["items"] = self.copy(schema["items"], depth + 1)
        properties = _mapping(schema.get("properties"))
        if properties:
            chosen = list(properties.items())[:MAX_PROPERTIES]
            found["properties"] = {str(name): self.copy(inner, depth + 1) for name, inner in chosen}
            required = [name for name in found["properties"] if name in _names(schema.get("required"))]
            if required:
                found["required"] = required
        if isinstance(schema.get("additionalProperties"), bool):
            found["additionalProperties"] = schema["additionalProperties"]
        for key in _ALTERNATIVES:
            branches = schema.get(key)
            if isinstance(branches, list) and branches:
                kept = "allOf" if key == "allOf" else "anyOf"
                found[kept] = [self.copy(branch, depth + 1) for branch in branches]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _look_up(root: Mapping[str, Any], reference: Any) -> Mapping[str, Any]:
    """Follow a JSON pointer of the same document, `#/$defs/name`."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    found: Any = root
    for part in reference[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return {}
        found = found[name]
    return _mapping(found)
