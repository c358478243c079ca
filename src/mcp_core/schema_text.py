"""JSON Schema as short text: the type of one argument, the way a person would say it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_LIMITS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "multipleOf": "a multiple of {}",
    "pattern": "matching {}",
}


def describe_type(schema: Schema, definitions: Schema) -> str:
    """Name the values that a schema accepts; `definitions` is the `$defs` of the schema it stands in."""
    match schema:
        case {"$ref": str(reference)}:
            return _describe_definition(reference.rpartition("/")[2], definitions)
        case {"const": value}:
            return _literal(value)
        case {"enum": list(values)}:
            return " | ".join(map(_literal, values))
        case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
            return " | ".join(describe_type(choice, definitions) for choice in choices)
        case {"allOf": [only]}:
            return describe_type(only, definitions)
        case {"type": "array"}:
            return _describe_array(schema, definitions)
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {describe_type(values, definitions)}"
        case {"type": str(name)}:
            return name
        case {"type": list(names)}:
            return " | ".join(names)
    return "any"


def describe_limits(schema: Schema) -> str:
    """List the bounds on a value, such as `>= 1, <= 10`; empty where there are none."""
    return ", ".join(text.format(schema[key]) for key, text in _LIMITS.items() if key in schema)


def _describe_definition(name: str, definitions: Schema) -> str:
    definition = definitions.get(name, {})
    if definition.get("type") == "object":
        fields = ", ".join(definition.get("properties", {}))
        return f"{name} {{{fields}}}"
    return describe_type(definition, definitions)


def _describe_array(schema: Schema, definitions: Schema) -> str:
    items = schema.get("items", {})
    inner = describe_type(items, definitions) if items else "any"
    return f"array of {f'({inner})' if ' | ' in inner else inner}"


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
