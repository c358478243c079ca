"""Names and schemas in Python: objects become TypedDicts of the file, also those that refer to themselves."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_core.json_types import Json, JsonObject, Schema, list_of, mapping_of
from onetool.openapi.description import Description, text_of

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z][a-z0-9]*|[A-Z][A-Z0-9]*|[0-9]+")
_LONGEST_NAME = 60
_OF_TYPING = frozenset({"Any", "Literal", "NotRequired", "TypedDict"})
_IMPORTED = frozenset({"annotations", "base64", "cache", "httpx", "json", "ot_sdk", "quote"})
OF_THE_FILE = _OF_TYPING | _IMPORTED | {"BASE_URL", "pack", "secrets"}  # names that the file of every pack uses itself
_PYTHON = frozenset({*keyword.kwlist, *keyword.softkwlist})
_TYPES = frozenset({"str", "int", "float", "bool", "bytes", "list", "dict"})
_BUILTINS = frozenset(dir(builtins))


class UniqueNames:
    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, wanted: str) -> str:
        """Return the name, or the first free one with a number after it."""
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name


def function_name(text: str) -> str:
    """Return the name of a tool: small letters, and nothing that Python or the file itself uses."""
    name = parameter_name(text, otherwise="call")
    return f"{name}_" if name in _BUILTINS | OF_THE_FILE else name


def parameter_name(text: str, *, otherwise: str = "value") -> str:
    """Return the name of a parameter: small letters, and no keyword."""
    name = "_".join(word.lower() for word in _words(text))[:_LONGEST_NAME].strip("_") or otherwise
    name = f"{otherwise}_{name}" if name[0].isdigit() else name
    return f"{name}_" if name in _PYTHON else name


def class_name(text: str) -> str:
    name = "".join(word[0].upper() + word[1:] for word in _words(text))[:_LONGEST_NAME] or "Object"
    name = f"Object{name}" if name[0].isdigit() else name
    return f"{name}_" if name in _PYTHON | _BUILTINS | OF_THE_FILE else name


def is_field(name: str) -> bool:
    """True if a key can stand in the body of a TypedDict, where it hides no type that others are annotated with."""
    if not name.isidentifier() or not name.isascii() or name.startswith("__"):
        return False
    return name not in keyword.kwlist and name not in _TYPES and name not in OF_THE_FILE


def literal(value: object) -> str:
    """Return a value as Python writes it, in ASCII, and in double quotes where that needs no escapes."""
    text = ascii(value)
    return f'"{text[1:-1]}"' if text.startswith("'") and '"' not in text else text


def _words(text: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii"))


ANY = "Any"
_DEEPEST = 12
_MOST_PARENTS = 100  # one above the other
_LONGEST = 300  # characters of one annotation
_MOST_CHOICES = 60
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(slots=True)
class RecordType:
    name: str
    summary: str
    fields: dict[str, str] = field(default_factory=dict)


class Types:
    """The annotations of one pack; `shapes` are the TypedDicts that they use, in the order of their first use."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._names = UniqueNames(OF_THE_FILE)
        self._by_reference: dict[str, str] = {}
        self._unions: dict[str, list[str]] = {}  # the arms of each, by its text
        self._unfilled: list[tuple[RecordType, Schema]] = []  # named, and their fields not read yet
        self.shapes: list[RecordType] = []

    def annotate(self, schema: object, name: str) -> str:
        """Return the annotation of a schema; `name` is what an object without a name of its own is called."""
        text = self._annotate(schema, name, 0)
        while self._unfilled:  # one after the other: a chain of references may be longer than Python's stack
            self._fill(*self._unfilled.pop(0), 1)
        return text

    def _annotate(self, schema: object, name: str, level: int) -> str:
        found = mapping_of(schema)
        reference = found.get("$ref")
        if isinstance(reference, str):
            return self._follow(reference, level)
        if level > _DEEPEST or not found:
            return ANY
        text = self._describe(found, name, level)
        if found.get("nullable") is True:
            text = self._union([text, "None"])
        return text if len(text) <= _LONGEST else ANY

    def _follow(self, reference: str, level: int) -> str:
        if reference in self._by_reference:
            return self._by_reference[reference]
        target = self._description.resolve({"$ref": reference})
        self._by_reference[reference] = ANY  # a name that stands for nothing but itself
        own = class_name(reference.rpartition("/")[2])
        if self._is_record(target):
            shape = self._name(target, own)
            self._unfilled.append((shape, target))
            self._by_reference[reference] = shape.name
            return shape.name
        text = self._annotate(target, own, level + 1)
        self._by_reference[reference] = text
        return text

    def _describe(self, schema: Schema, name: str, level: int) -> str:
        for key in ("oneOf", "anyOf"):
            if branches := list_of(schema.get(key)):
                numbered = enumerate(branches, 1)
                return self._union([self._annotate(branch, f"{name}{n}", level + 1) for n, branch in numbered])
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else list_of(schema["enum"])
            null = ["None"] if None in values else []
            return self._union([_literal([value for value in values if value is not None]), *null])
        if kinds := list_of(schema.get("type")):
            return self._union([self._annotate({**schema, "type": kind}, name, level + 1) for kind in kinds])
        if self._is_record(schema):
            shape = self._name(schema, name)
            self._fill(shape, schema, level + 1)
            return shape.name
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self._annotate(schema.get('items'), f'{name}Item', level + 1)}]"
        if kind == "object":
            return f"dict[str, {self._annotate(schema.get('additionalProperties'), f'{name}Value', level + 1)}]"
        if kind == "string" and schema.get("format") == "binary":
            return "bytes"
        return _SIMPLE.get(kind, ANY) if isinstance(kind, str) else ANY

    def _is_record(self, schema: Schema) -> bool:
        properties, _ = self._properties(schema)
        closed = schema.get("type") in (None, "object") and not schema.get("additionalProperties")
        return closed and bool(properties) and all(map(is_field, properties))

    def _name(self, schema: Schema, name: str) -> RecordType:
        shape = RecordType(self._names.take(name), text_of(schema.get("description"))[:200])
        self.shapes.append(shape)
        return shape

    def _fill(self, shape: RecordType, schema: Schema, level: int) -> None:
        properties, required = self._properties(schema)
        for key, inner in properties.items():
            text = self._annotate(inner, f"{shape.name}{class_name(key)}", level)
            hidden = not set(_NAME.findall(text)).isdisjoint(properties)  # by a field called like its class
            text = ANY if hidden else text
            given = key in required and mapping_of(inner).get("readOnly") is not True
            shape.fields[key] = text if given else f"NotRequired[{text}]"

    def _properties(self, schema: Schema, seen: set[int] | None = None, level: int = 0) -> tuple[JsonObject, set[str]]:
        """Return the properties of an object and the names of those required, those of `allOf` included, each once."""
        seen = set() if seen is None else seen
        properties: JsonObject = {}
        required: set[str] = set()
        if id(schema) in seen or level > _MOST_PARENTS:
            return properties, required
        seen.add(id(schema))
        for part in list_of(schema.get("allOf")):
            more, needed = self._properties(self._description.resolve(part), seen, level + 1)
            properties |= more
            required |= needed
        own = {str(name): inner for name, inner in mapping_of(schema.get("properties")).items()}
        return properties | own, required | {name for name in list_of(schema.get("required")) if isinstance(name, str)}

    def _union(self, texts: list[str]) -> str:
        """Return annotations as one, each arm once and None last; anything at all where one of them is that."""
        arms = list(dict.fromkeys(arm for text in filter(None, texts) for arm in self._unions.get(text, [text])))
        if ANY in arms or not arms:
            return ANY
        arms.sort(key="None".__eq__)
        text = " | ".join(arms)
        self._unions[text] = arms
        return text


def _literal(values: Sequence[Json]) -> str:
    """Return what accepts nothing but these values, or their type where that cannot be written; empty for none."""
    if not values:
        return ""
    if len(values) <= _MOST_CHOICES and all(type(value) in (str, int, bool) for value in values):
        return f"Literal[{', '.join(map(literal, values))}]"
    kinds: Mapping[type, str] = {str: "str", int: "int", float: "float", bool: "bool"}
    found = {kinds.get(type(value), ANY) for value in values}
    return found.pop() if len(found) == 1 else ANY
