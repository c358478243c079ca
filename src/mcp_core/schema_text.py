"""JSON Schema as short text: what one argument accepts, the way a person would say it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

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


def describe_arguments(schema: Schema, *, defaults: Mapping[str, Any] | None = None) -> list[str]:
    """List the arguments of an object schema, each as one line: `name` (type, required, limits, default): text.

    `defaults` has those that the schema does not tell.
    """
    known = {name: {"default": value} for name, value in (defaults or {}).items()}
    definitions = schema.get("$defs", {})
    root = resolve(schema, definitions)  # a model that contains itself is a reference
    required = root.get("required", ())
    return [
        _describe_argument(name, {**known.get(name, {}), **field}, definitions, required=name in required)
        for name, field in root.get("properties", {}).items()
    ]


def describe_type(schema: Schema, definitions: Schema, *, inside: tuple[str, ...] = ()) -> str:
    """Name the values that a schema accepts; `definitions` is the `$defs` of the schema it stands in.

    `inside` names the definitions that are being described already.
    """
    match schema:
        case {"$ref": str(reference)}:
            return _describe_definition(reference.rpartition("/")[2], definitions, inside)
        case {"const": value}:
            return write_literal(value)
        case {"enum": list(values)}:
            return " | ".join(map(write_literal, values))
        case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
            return " | ".join(_each_once(_describe_part(choice, definitions, inside) for choice in choices))
        case {"allOf": list(parts)}:
            return " & ".join(_each_once(_describe_part(part, definitions, inside) for part in parts))
        case {"type": "array"}:
            return _describe_array(schema, definitions, inside)
        case {"type": "object"}:
            return _describe_object(schema, definitions, inside)
        case {"type": str(name)}:
            return name
        case {"type": list(names)}:
            return " | ".join(names)
    return "any"


def describe_limits(schema: Schema) -> str:
    """List the bounds on a value, such as `>= 1, <= 10`; empty where there are none."""
    told = {"minItems", "maxItems"} if "prefixItems" in schema else ()  # a tuple shows its places
    limits = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema and key not in told]
    if schema.get("uniqueItems"):
        limits.append("no item twice")
    return ", ".join(limits)


def write_literal(value: object) -> str:
    """Write a value the way a caller must send it."""
    return json.dumps(value, ensure_ascii=False)


def resolve(schema: Schema, definitions: Schema) -> Schema:
    """Follow a reference; a schema that is none is given back."""
    reference = schema.get("$ref")
    found: Schema = definitions.get(reference.rpartition("/")[2], {}) if isinstance(reference, str) else schema
    return found


def _describe_argument(name: str, field: Schema, definitions: Schema, *, required: bool) -> str:
    notes = [describe_type(field, definitions), "required" if required else "optional"]
    if limits := describe_limits(field):
        notes.append(limits)
    if "default" in field:
        notes.append(f"default {write_literal(field['default'])}")
    line = f"- `{name}` ({', '.join(notes)})"
    description = " ".join(str(field.get("description", "")).split())
    return f"{line}: {description}" if description else line


def _describe_definition(name: str, definitions: Schema, inside: tuple[str, ...]) -> str:
    definition = definitions.get(name, {})
    if name in inside:
        return name
    text = describe_type(definition, definitions, inside=(*inside, name))
    return f"{name} {text}" if text.startswith("{") else text


def _describe_object(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> str:
    properties = schema.get("properties", {})
    if properties:
        required = schema.get("required", ())
        fields = (
            f"{name}{'' if name in required else '?'}: {_describe_part(field, definitions, inside)}"
            for name, field in properties.items()
        )
        return f"{{{', '.join(fields)}}}"
    values = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()), None)
    if isinstance(values, Mapping) and values:
        return f"object of {_describe_item(values, definitions, inside)}"
    return "object"


def _describe_array(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> str:
    if places := schema.get("prefixItems"):
        return f"array [{', '.join(_describe_part(place, definitions, inside) for place in places)}]"
    items = schema.get("items")
    if not items:
        return "array"
    return f"array of {_describe_item(items, definitions, inside)}"


def _describe_part(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> str:
    limits = describe_limits(schema)
    text = describe_type(schema, definitions, inside=inside)
    return f"{text} ({limits})" if limits else text


def _describe_item(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> str:
    text = _describe_part(schema, definitions, inside)
    choices = {"anyOf", "oneOf", "enum"} & resolve(schema, definitions).keys()
    return f"({text})" if choices and " | " in text else text


def _each_once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
