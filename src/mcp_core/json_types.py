"""Values of JSON: their types, and references inside one document, such as `#/$defs/name`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""A JSON value. A value that is not known to be one is an `object` and narrowed."""
JsonObject: TypeAlias = dict[str, Json]
Schema: TypeAlias = Mapping[str, Json]  # a JSON Schema, read but not changed


def mapping_of(value: object) -> Schema:
    """Return a value that is an object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[Json]:
    """Return a value that is a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def look_up(root: object, reference: object) -> object:
    """Return what a JSON pointer of the same document names; None for any other reference. Nothing is ever fetched."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found = root
    for part in reference[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def resolve(root: object, schema: object, *, with_siblings: bool = False) -> object:
    """Return the schema that a chain of `$ref` leads to; None where it leads away, nowhere, or in a circle."""
    # With `with_siblings`, what stands beside a `$ref` counts instead of what the reference says of the same keyword.
    for _ in range(10):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        target = look_up(root, schema["$ref"])
        if with_siblings and isinstance(target, Mapping):
            target = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        schema = target
    return None
