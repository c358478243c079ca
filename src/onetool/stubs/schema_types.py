"""Types in a stub: of JSON Schemas and of learnt shapes, and the TypedDicts that they need.

A schema may come from a server and hold anything: only literals are taken over from it, written out by `ascii`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_core.json_types import Schema, list_of, resolve
from ot.shapes.shape import DICT, EMPTY_TEXT, LIST, NONE, TEXT, Fields, Shape

LONGEST_NAME = 80
_WORD = re.compile(r"[A-Za-z0-9]+")


class ModuleNames(NamedTuple):
    """The modules that a stub imports, by names that no tool of its pack has."""

    builtins: str
    typing: str
    values: str

    @classmethod
    def beside(cls, taken: Iterable[str]) -> ModuleNames:
        """Choose names beside those of the tools: a tool may well be called `list` or `_t`."""
        end = "_" * max(max((len(name) for name in taken if name.startswith("_")), default=0) - 1, 0)
        return cls(f"_b{end}", f"_t{end}", f"_v{end}")

    @property
    def any(self) -> str:
        return f"{self.typing}.Any"

    def plain(self, name: str) -> str:
        """Return a builtin type; a tool of that name does not hide it."""
        return name if name == "None" else f"{self.builtins}.{name}"


class Key(NamedTuple):
    """One key of a shape: its name as it is, its type, and whether it is always there."""

    name: str
    type: str
    required: bool = True


class Classes:
    """The classes of one stub, in the order in which they were asked for; the same keys have one class."""

    def __init__(self, names: ModuleNames, taken: Iterable[str]) -> None:
        self.names = names
        self._taken = {*taken, names.builtins, names.typing, names.values}
        self._known: dict[tuple[tuple[Key, ...], bool], str] = {}
        self.texts: list[str] = []

    def define(self, hint: str, keys: Iterable[Key], *, record: bool = False) -> str:
        """Return the name of the class with these keys; a record has them as attributes as well."""
        keys = tuple(keys)
        known = self._known.get((keys, record))
        if known is None:
            words = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(hint))[:LONGEST_NAME]
            wanted = words if words[:1].isalpha() else f"Shape{words}"
            known, number = wanted, 1
            while known in self._taken or keyword.iskeyword(known):
                number += 1
                known = f"{wanted}{number}"
            self._taken.add(known)
            self._known[keys, record] = known
            self.texts.append(self._write(known, keys, record=record))
        return known

    def _write(self, name: str, keys: tuple[Key, ...], *, record: bool) -> str:
        plain = [key for key in keys if self._is_plain(key.name)]
        if not record and len(plain) < len(keys):
            pairs = "".join(f"    {key.name!a}: {self._value(key)},\n" for key in keys)
            return f"{name} = {self.names.typing}.TypedDict({name!r}, {{\n{pairs}}})\n"
        base = f"{self.names.values}.Record" if record else f"{self.names.typing}.TypedDict"
        lines = [f"    {key.name}: {key.type if record else self._value(key)}\n" for key in plain]
        return f"class {name}({base}):\n{''.join(lines) or '    ...' + chr(10)}"

    def _value(self, key: Key) -> str:
        return key.type if key.required else f"{self.names.typing}.NotRequired[{key.type}]"

    def _is_plain(self, name: str) -> bool:
        """True if a class can have it as a name that means nothing else there."""
        own = (self.names.builtins, self.names.typing, self.names.values)
        usual = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
        return usual and not name.startswith("__") and name not in own


def join_types(types: Iterable[str], names: ModuleNames) -> str:
    """Write a union; whatever fits anything makes all of it so."""
    known = dict.fromkeys(types)
    if not known or names.any in known:
        return names.any
    ordered = [text for text in known if text != "None"] + ["None"] * ("None" in known)
    return " | ".join(ordered)


MOST_LEVELS = 8
MOST_NODES = 400  # of one tool
MOST_KEYS = 200  # of one class
MOST_CHOICES = 60
LONGEST_LITERAL = 200
_PLAIN = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(slots=True)
class SchemaTypes:
    """Writes types of one tool; what is `given` to it may be a path or a tuple, `records` have attributes, too."""

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
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
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
            required = list_of(schema.get("required"))
            keys = (
                Key(name, self.type_of(item, f"{hint} {name}"), name in required) for name, item in properties.items()
            )
            return self.classes.define(hint, keys, record=self.records)
        finally:
            self._inside.pop()


_KINDS = {TEXT: "str", EMPTY_TEXT: "str", "int": "int", "float": "float", "bool": "bool", "bytes": "bytes", NONE: NONE}


def type_of_shape(shape: Shape, classes: Classes, hint: str) -> str:
    """Return the type of values that have a shape; of what nobody has looked at, any."""
    names = classes.names
    types = []
    if shape.fields is not None:
        types.append(_type_of_fields(shape.fields, classes, hint))
    elif DICT in shape.kinds:
        types.append(f"{names.builtins}.dict[{names.plain('str')}, {names.any}]")
    if shape.items is not None or LIST in shape.kinds:
        items = names.any if shape.items is None else type_of_shape(shape.items, classes, f"{hint} Item")
        types.append(f"{names.builtins}.list[{items}]")
    if shape.json is not None:
        types.append(names.plain("str"))
    kinds = sorted(shape.kinds - {DICT, LIST})
    types += [names.plain(_KINDS[kind]) if kind in _KINDS else names.any for kind in kinds]
    return join_types(types, names)


def _type_of_fields(fields: Fields, classes: Classes, hint: str) -> str:
    names = classes.names
    if fields.others is not None or fields.closed or not (fields.always or fields.sometimes):
        named = bool(fields.always or fields.sometimes)
        values = names.any if named or fields.others is None else type_of_shape(fields.others, classes, f"{hint} Value")
        return f"{names.builtins}.dict[{names.plain('str')}, {values}]"
    always, sometimes = sorted(fields.always.items()), sorted(fields.sometimes.items())
    keys = [
        Key(name, type_of_shape(shape, classes, f"{hint} {name}"), required)
        for shapes, required in ((always, not fields.empty), (sometimes, False))
        for name, shape in shapes
    ]
    return classes.define(hint, keys)
