"""References inside one JSON document: `#/$defs/name` is followed, anything that leads elsewhere is not."""

from __future__ import annotations

from collections.abc import Mapping

_LONGEST_CHAIN = 10


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
    """Return the schema that a chain of `$ref` leads to; None where it leads away, nowhere, or in a circle.

    With `with_siblings`, what stands beside a `$ref` counts instead of what the reference says of the same keyword.
    """
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        target = look_up(root, schema["$ref"])
        if with_siblings and isinstance(target, Mapping):
            target = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        schema = target
    return None
