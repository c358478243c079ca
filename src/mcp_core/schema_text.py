"""JSON Schema as short text: what one argument accepts, the way a person would say it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp_core.json_pointers import resolve
from mcp_core.json_types import Json, Schema, list_of, mapping_of

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
    """List the arguments of an object schema, each as one line: `name` (type, required, limits, default): text.

    `defaults` has those that the schema does not tell.
    """
    known = {name: {"default": value} for name, value in (defaults or {}).items()}
    own = follow(schema, schema)  # a model that contains itself is a reference
    required = list_of(own.get("required"))
    return [
        _describe_argument(name, {**known.get(name, {}), **mapping_of(field)}, schema, required=name in required)
        for name, field in mapping_of(own.get("properties")).items()
    ]


def describe_type(schema: Schema, root: Schema, *, inside: tuple[str, ...] = ()) -> str:
    """Name the values that a schema accepts; `root` is the schema that it stands in.

    `inside` has the references that are being described already.
    """
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


def _describe_argument(name: str, field: Schema, root: Schema, *, required: bool) -> str:
    notes = [describe_type(field, root), "required" if required else "optional"]
    if limits := describe_limits(field):
        notes.append(limits)
    if "default" in field:
        notes.append(f"default {write_literal(field['default'])}")
    line = f"- `{name}` ({', '.join(notes)})"
    description = " ".join(str(field.get("description", "")).split())
    return f"{line}: {description}" if description else line


def _describe_definition(reference: str, root: Schema, inside: tuple[str, ...]) -> str:
    name = reference.rpartition("/")[2]
    if reference in inside:
        return name
    text = describe_type(follow(root, {"$ref": reference}), root, inside=(*inside, reference))
    return f"{name} {text}" if text.startswith("{") else text


def _describe_object(schema: Schema, root: Schema, inside: tuple[str, ...]) -> str:
    properties = mapping_of(schema.get("properties"))
    if properties:
        required = list_of(schema.get("required"))
        fields = (
            f"{name}{'' if name in required else '?'}: {_describe_part(field, root, inside)}"
            for name, field in properties.items()
        )
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
