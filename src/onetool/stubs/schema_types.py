"""JSON Schemas as Python types: what a tool takes, and what its definition says that it returns.

A schema may come from a server and hold anything: only literals are taken over from it, written out by `ascii`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_core.json_pointers import resolve
from mcp_core.json_types import Schema
from onetool.stubs.classes import Classes, Key, join_types

MOST_LEVELS = 8
MOST_NODES = 400  # of one tool
MOST_KEYS = 200  # of one class
MOST_CHOICES = 60
LONGEST_LITERAL = 200
_PLAIN = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(slots=True)
class SchemaTypes:
    """Writes types of one tool. What is `given` to it may be a path for a string, or a tuple for an array.

    `records` are objects that come back with their fields as attributes too.
    """

    classes: Classes
    root: object
    given: bool
    records: bool = False
    _left: int = field(default=MOST_NODES, init=False)
    _inside: list[Schema] = field(default_factory=list, init=False)  # objects whose keys are being written

    def type_of(self, schema: object, hint: str) -> str:
        """Return the type of the values that a schema accepts; `hint` names the classes that it needs."""
        self._left -= 1
        names = self.classes.names
        schema = resolve(self.root, schema)
        if not isinstance(schema, dict) or len(self._inside) > MOST_LEVELS or self._left < 0:
            return names.any
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(choices, list) and choices:
            return self._literals(choices)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                return self._union([self.type_of(branch, hint) for branch in branches[: MOST_CHOICES + 1]])
        branches = schema.get("allOf")
        if isinstance(branches, list) and branches:
            return self.type_of(branches[0], hint) if len(branches) == 1 and "type" not in schema else names.any
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._union([self._kind(kind, schema, hint) for kind in kinds])
        return self._kind(kinds, schema, hint)

    def _union(self, types: list[str]) -> str:
        return self.classes.names.any if len(types) > MOST_CHOICES else join_types(types, self.classes.names)

    def _literals(self, values: list[object]) -> str:
        names = self.classes.names
        plain = all(value is None or type(value) in (str, int, bool) for value in values)
        texts = [ascii(value) for value in values] if plain and len(values) <= MOST_CHOICES else []
        if not texts or any(len(text) > LONGEST_LITERAL for text in texts):
            return names.any
        return f"{names.typing}.Literal[{', '.join(dict.fromkeys(texts))}]"

    def _kind(self, kind: object, schema: Schema, hint: str) -> str:
        names = self.classes.names
        if kind == "string":
            return f"{names.values}.Text" if self.given else names.plain("str")
        if isinstance(kind, str) and kind in _PLAIN:
            return names.plain(_PLAIN[kind])
        if kind == "array" or (kind is None and "items" in schema):
            return self._array(schema, hint)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, hint)
        return names.any

    def _array(self, schema: Schema, hint: str) -> str:
        names = self.classes.names
        places = schema.get("prefixItems")
        if isinstance(places, list):
            items = join_types((self.type_of(place, f"{hint} Item") for place in places), names)
        else:
            items = self.type_of(schema.get("items"), f"{hint} Item")
        if not self.given:
            return f"{names.builtins}.list[{items}]"
        # A string is a sequence of strings, so `Items` excludes it; mypy looks more closely at what is in a `Sequence`.
        of_text = any(text in items for text in (f"{names.values}.Text", f"{names.typing}.Literal", names.any))
        return f"{names.values}.Items[{items}]" if of_text else f"{names.typing}.Sequence[{items}]"

    def _object(self, schema: Schema, hint: str) -> str:
        names = self.classes.names
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        mapping = f"{names.typing}.Mapping" if self.given else f"{names.builtins}.dict"
        if any(schema is outer for outer in self._inside):
            return f"{mapping}[{names.plain('str')}, {names.any}]"
        self._inside.append(schema)
        try:
            if not isinstance(properties, dict) or not properties:
                values = self.type_of(others, f"{hint} Value") if isinstance(others, dict) else names.any
                return f"{mapping}[{names.plain('str')}, {values}]"
            if len(properties) > MOST_KEYS or (self.given and others not in (None, False)):
                return f"{mapping}[{names.plain('str')}, {names.any}]"
            return self.classes.define(hint, self._keys(schema, properties, hint), record=self.records)
        finally:
            self._inside.pop()

    def _keys(self, schema: Schema, properties: Schema, hint: str) -> list[Key]:
        listed = schema.get("required")
        required = listed if isinstance(listed, list) else []
        return [Key(name, self.type_of(item, f"{hint} {name}"), name in required) for name, item in properties.items()]
