"""A JSON Schema in the words of a Python signature: annotations and defaults, always short and always compilable."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from mcp_core.json_types import Json, Schema, resolve
from ot.registry.schema_copy import names_in

ANY = "Any"
PLACEHOLDER = "'...'"
"""The default of a parameter that may be left out, where the schema does not say what happens then."""
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MAX_LEVELS = 3
_MAX_NODES = 60
_MAX_CHOICES = 12
_MAX_ANNOTATION = 120
_MAX_DETAILED = 400
_MAX_DETAILED_LEVELS = 5
_MAX_DEFAULT = 60
_MAX_FIELDS = 20
_COMPOSED = frozenset({"$ref", "const", "enum", "anyOf", "oneOf", "allOf", "items", "properties"})


def plain_type(schema: object) -> str | None:
    """The annotation of a schema that says no more than a plain type, as most do; None for any other."""
    if not isinstance(schema, dict) or not _COMPOSED.isdisjoint(schema):
        return None
    kind = schema.get("type")
    return ANY if kind is None else _NAMES.get(kind) if isinstance(kind, str) else None


def annotation_of(schema: object, root: object) -> str:
    """The type that a schema asks for, as Python would annotate it; `Any` where that cannot be said shortly."""
    if (plain := plain_type(schema)) is not None:
        return plain
    text = _Annotation(root).text(schema, 0)
    return text if len(text) <= _MAX_ANNOTATION else ANY


def detailed_annotation(schema: object, root: object) -> str:
    """The same with the keys of objects, `list[{path: str, line?: int}]`, which is not Python."""
    # Where that is long, objects inside of objects are left at `dict`; where it still is, all of them are.
    if (plain := plain_type(schema)) is not None:
        return plain
    for nesting in (_MAX_DETAILED_LEVELS, 1):
        text = _Annotation(root, nesting=nesting).text(schema, 0)
        if len(text) <= _MAX_DETAILED:
            return text
    return annotation_of(schema, root)


def default_text(schema: object) -> str:
    """The default that a schema declares, as a literal, or the placeholder."""
    if not isinstance(schema, dict) or "default" not in schema:
        return PLACEHOLDER
    text = _literal(schema["default"], 0)
    return text if text is not None and len(text) <= _MAX_DEFAULT else PLACEHOLDER


def fields_of(schema: object, root: object, level: int = 0) -> str:
    """The fields of an object, `{name: str, age?: int}`, or of each item of a list; empty where none are declared."""
    schema = resolve(root, schema)
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword) if isinstance(schema, dict) else None
        if isinstance(branches, list) and level < _MAX_LEVELS:
            texts = (fields_of(branch, root, level + 1) for branch in branches[:_MAX_CHOICES])
            return next((text for text in texts if text), "")
    if isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = resolve(root, schema["items"])
    if not isinstance(schema, dict):
        return ""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return ""
    required = names_in(schema.get("required"))
    fields = [
        f"{name[:_MAX_DEFAULT]}{'' if name in required else '?'}: {annotation_of(item, root)}"
        for name, item in list(properties.items())[:_MAX_FIELDS]
    ]
    return f"{{{', '.join(fields)}{', …' if len(properties) > _MAX_FIELDS else ''}}}"


class _Annotation:
    """One annotation; schemas may refer to themselves in more ways than one, so it looks at a few of them only."""

    def __init__(self, root: object, *, nesting: int = 0) -> None:
        """With keys of as many objects inside of each other as `nesting` says."""
        self._root = root
        self._nesting = nesting
        self._levels = _MAX_DETAILED_LEVELS if nesting else _MAX_LEVELS
        self._left = _MAX_NODES
        self._inside: list[Schema] = []  # the objects whose keys are being written

    def text(self, schema: object, level: int) -> str:
        self._left -= 1
        schema = resolve(self._root, schema)
        if not isinstance(schema, dict) or level > self._levels or self._left < 0:
            return ANY
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(choices, list) and (literals := _choices(choices)):
            return literals
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                return _union(self.text(branch, level + 1) for branch in branches[: _MAX_CHOICES + 1])
        branches = schema.get("allOf")
        if isinstance(branches, list) and len(branches) == 1 and "type" not in schema:
            return self.text(branches[0], level + 1)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return _union(self._named(kind, schema, level) for kind in kinds[: _MAX_CHOICES + 1])
        return self._named(kinds, schema, level)

    def _named(self, kind: object, schema: Schema, level: int) -> str:
        if kind == "array" or (kind is None and "items" in schema):
            items = self.text(schema.get("items"), level + 1)
            return "list" if items == ANY else f"list[{items}]"
        if kind == "object" or (kind is None and "properties" in schema):
            properties = schema.get("properties")
            if len(self._inside) < self._nesting and isinstance(properties, dict) and properties:
                return self._fields(schema, properties, level)
            values = ANY if "properties" in schema else self.text(schema.get("additionalProperties"), level + 1)
            return "dict" if values == ANY else f"dict[str, {values}]"
        return _NAMES.get(kind, ANY) if isinstance(kind, str) else ANY

    def _fields(self, schema: Schema, properties: Schema, level: int) -> str:
        """The keys of an object; a key that is no name is quoted, with nothing invisible in it."""
        if any(schema is outer for outer in self._inside):
            return "dict"
        required = names_in(schema.get("required"))
        self._inside.append(schema)
        texts = [
            f"{_key(name)}{'' if name in required else '?'}: {self.text(item, level + 1)}"
            for name, item in list(properties.items())[:_MAX_FIELDS]
        ]
        self._inside.pop()
        return f"{{{', '.join(texts)}{', …' if len(properties) > _MAX_FIELDS else ''}}}"


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and len(name) <= _MAX_DEFAULT else ascii(name[:_MAX_DEFAULT])


def _union(texts: Iterable[str]) -> str:
    known = dict.fromkeys(texts)
    if ANY in known or len(known) > _MAX_CHOICES:
        return ANY
    ordered = [text for text in known if text != "None"] + ["None"] * ("None" in known)
    return " | ".join(ordered) or ANY


def _choices(values: list[Json]) -> str | None:
    """`Literal[...]` of a few plain values; None where a type says it better."""
    if not 0 < len(values) <= _MAX_CHOICES or any(isinstance(value, (float, list, dict)) for value in values):
        return None
    literals = [_literal(value, 0) for value in values]
    known = [literal for literal in literals if literal is not None]
    text = f"Literal[{', '.join(known)}]"
    return text if len(known) == len(literals) and len(text) <= _MAX_ANNOTATION else None


def _literal(value: object, level: int) -> str | None:
    """A JSON value as Python writes it; None for what is long, deep, or has no literal."""
    if value is None or isinstance(value, (bool, int)):
        return repr(value) if not isinstance(value, int) or abs(value) < 10**_MAX_DEFAULT else None
    if isinstance(value, float):
        return repr(value) if isfinite(value) else None
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_DEFAULT else None
    if level > _MAX_LEVELS or not isinstance(value, (list, dict)) or len(value) > _MAX_CHOICES:
        return None
    if isinstance(value, list):
        items = [_literal(item, level + 1) for item in value]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    pairs = [(_literal(key, level + 1), _literal(item, level + 1)) for key, item in value.items()]
    return None if any(None in pair for pair in pairs) else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
