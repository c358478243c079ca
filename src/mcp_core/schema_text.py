"""JSON Schema as short text: what an argument accepts, and what is wrong with those of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pydantic import ValidationError

from mcp_core.json_types import Json, Schema, list_of, mapping_of, resolve

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LIMITS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matching {}",
    "format": "format {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
}


def describe_arguments(schema: Schema, *, defaults: Mapping[str, Json] | None = None) -> list[str]:
    """List the arguments of an object schema, each as one line: `name` (type, required, limits, default): text."""
    # `defaults` has those that the schema does not tell.
    own = follow(schema, schema)  # a model that contains itself is a reference
    required = list_of(own.get("required"))
    lines = []
    for name, described in mapping_of(own.get("properties")).items():
        known = {"default": defaults[name]} if defaults and name in defaults else {}
        field: Schema = {**known, **mapping_of(described)}
        notes = [describe_type(field, schema), "required" if name in required else "optional"]
        if limits := describe_limits(field):
            notes.append(limits)
        if "default" in field:
            notes.append(f"default {write_literal(field['default'])}")
        description = " ".join(str(field.get("description", "")).split())
        lines.append(f"- `{name}` ({', '.join(notes)})" + (f": {description}" if description else ""))
    return lines


def describe_type(schema: Schema, root: Schema, *, inside: tuple[str, ...] = ()) -> str:
    """Name the values that a schema accepts, within `root`; `inside` are the references that are being described."""
    match schema:
        case {"$ref": str(reference)}:
            return _describe_definition(reference, root, inside)
        case {"const": value}:
            return write_literal(value)
        case {"enum": list(values)}:
            return " | ".join(map(write_literal, values))
        case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
            return " | ".join(dict.fromkeys(_describe_part(choice, root, inside) for choice in choices))
        case {"allOf": list(parts)}:
            return " & ".join(dict.fromkeys(_describe_part(part, root, inside) for part in parts))
        case {"type": "array"}:
            return _describe_array(schema, root, inside)
        case {"type": "object"}:
            return _describe_object(schema, root, inside)
        case {"type": str(name)}:
            return name
        case {"type": list(names)}:
            return " | ".join(map(str, names))
    return "any"


def describe_limits(schema: Schema) -> str:
    """List the bounds on a value, such as `>= 1, <= 10`; empty where there are none."""
    told = {"minItems", "maxItems"} if "prefixItems" in schema else ()  # a tuple shows its places
    limits = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema and key not in told]
    if schema.get("uniqueItems"):
        limits.append("no item twice")
    return ", ".join(limits)


def follow(root: Schema, schema: Schema) -> Schema:
    """Return what a reference leads to, an empty schema where that is nothing, and any other schema as it is."""
    return mapping_of(resolve(root, schema))


def write_literal(value: object) -> str:
    """Write a value the way a caller must send it."""
    return json.dumps(value, ensure_ascii=False)


def _describe_definition(reference: str, root: Schema, inside: tuple[str, ...]) -> str:
    name = reference.rpartition("/")[2]
    if reference in inside:
        return name
    text = describe_type(follow(root, {"$ref": reference}), root, inside=(*inside, reference))
    return f"{name} {text}" if text.startswith("{") else text


def _describe_object(schema: Schema, root: Schema, inside: tuple[str, ...]) -> str:
    if properties := mapping_of(schema.get("properties")):
        required = list_of(schema.get("required"))
        described = {name: _describe_part(field, root, inside) for name, field in properties.items()}
        fields = (f"{name}{'' if name in required else '?'}: {text}" for name, text in described.items())
        return f"{{{', '.join(fields)}}}"
    patterns = mapping_of(schema.get("patternProperties"))
    values = schema.get("additionalProperties") or next(iter(patterns.values()), None)
    return f"object of {_describe_item(values, root, inside)}" if mapping_of(values) else "object"


def _describe_array(schema: Schema, root: Schema, inside: tuple[str, ...]) -> str:
    if places := list_of(schema.get("prefixItems")):
        return f"array [{', '.join(_describe_part(place, root, inside) for place in places)}]"
    items = schema.get("items")
    return f"array of {_describe_item(items, root, inside)}" if items else "array"


def _describe_part(part: Json, root: Schema, inside: tuple[str, ...]) -> str:
    schema = mapping_of(part)
    limits = describe_limits(schema)
    text = describe_type(schema, root, inside=inside)
    return f"{text} ({limits})" if limits else text


def _describe_item(item: Json, root: Schema, inside: tuple[str, ...]) -> str:
    text = _describe_part(item, root, inside)
    choices = {"anyOf", "oneOf", "enum"} & follow(root, mapping_of(item)).keys()
    return f"({text})" if choices and " | " in text else text


_JSON_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
Place = tuple[str | int, ...]


class ArgumentProblemsError(ValueError):
    """Arguments that a tool does not accept: each problem as a phrase, and what it accepts instead."""

    def __init__(self, tool: str, problems: Sequence[str], expected: str) -> None:
        super().__init__(tool, *problems)
        self.tool = tool
        self.problems = tuple(problems)
        self.expected = expected

    def __str__(self) -> str:
        problems = "\n".join(f"- {problem}" for problem in self.problems)
        return f"The arguments of {self.tool} do not fit:\n{problems}\nExpected:\n{self.expected or '- none'}"


def explain(
    error: ValidationError, arguments: Mapping[str, object], *, tool: str, schema: Schema, expected: str
) -> ArgumentProblemsError:
    """Word a failed validation of the arguments of a tool; `expected` lists what `schema` accepts."""
    places = groupby(error.errors(include_url=False), key=lambda detail: _find_place(detail, arguments))
    problems = [_phrase(place, list(details), schema) for place, details in places]
    return ArgumentProblemsError(tool, problems, expected)


def _find_place(detail: ErrorDetails, arguments: object) -> Place:
    """Find where in the arguments it is; pydantic's location also names branches of unions, which were not sent."""
    place: list[str | int] = []
    at = arguments
    for step in detail["loc"]:
        parts = dict(enumerate(at)) if isinstance(at, list) else at
        if isinstance(parts, Mapping) and step in parts:
            at = parts[step]
            place.append(step)
    if detail["type"] == "missing":
        place.append(detail["loc"][-1])
    return tuple(place)


def _phrase(place: Place, details: Sequence[ErrorDetails], schema: Schema) -> str:
    where = ".".join(map(str, place)) or "arguments"
    kinds = {detail["type"] for detail in details}
    if kinds == {"missing"}:
        return f"{where}: missing"
    if kinds == {"extra_forbidden"}:
        return f"{where}: there is no such argument"
    if len(place) == 1 and all(kind.endswith(("_type", "_parsing")) for kind in kinds):
        field = mapping_of(mapping_of(follow(schema, schema).get("properties")).get(str(place[0])))
        sent = type(details[0]["input"])
        return f"{where}: expected {describe_type(field, schema)}, got {_JSON_NAMES.get(sent, sent.__name__)}"
    return f"{where}: {' or '.join(dict.fromkeys(map(_said, details)))}"


def _said(detail: ErrorDetails) -> str:
    text = detail["msg"]
    own = text.removeprefix("Value error, ").removeprefix("Assertion failed, ")  # said by validators of ours
    return own if own != text else f"{text[:1].lower()}{text[1:]}"
