"""References inside one JSON document: `#/$defs/name` is followed, anything that leads elsewhere is not."""

from __future__ import annotations

from typing import Any

_LONGEST_CHAIN = 10


def look_up(root: Any, reference: Any) -> Any:
    """What a JSON pointer of the same document names; None for any other reference. Nothing is ever fetched."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found = root
    for part in reference[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def resolve(root: Any, schema: Any) -> Any:
    """The schema that a chain of `$ref` leads to; None where it leads away, nowhere, or in a circle."""
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        schema = look_up(root, schema["$ref"])
    return None
