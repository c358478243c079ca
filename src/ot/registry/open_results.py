"""Results whose declaration leaves open what comes back: `dict`, `list[Any]`, or nothing at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from mcp_core.json_types import resolve
from mcp_core.quick_dataclass import replace
from ot.registry.definitions import LearntFrom, PackDefinition, ToolDefinition

_MOST_LEVELS = 8


def leaves_open(schema: object, root: object, level: int = 0) -> bool:
    """True if a schema does not say what a value has in it."""
    schema = resolve(root, schema)
    if not isinstance(schema, dict) or level > _MOST_LEVELS:
        return True
    if "enum" in schema or "const" in schema or schema.get("properties"):
        return False
    branches = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(schema.get(key), list)), None)
    if branches is not None:
        return any(leaves_open(branch, root, level + 1) for branch in branches)
    kinds = schema.get("type")
    if kinds == "array":
        places = schema.get("prefixItems") or [schema.get("items")]
        return not isinstance(places, list) or any(leaves_open(place, root, level + 1) for place in places)
    if kinds == "object":
        return leaves_open(schema.get("additionalProperties"), root, level + 1)
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return not all(kind in ("string", "integer", "number", "boolean", "null") for kind in kinds)


def learn_results(pack: PackDefinition, place: str, version_of: Callable[[ToolDefinition], str]) -> PackDefinition:
    """Let the shape of what comes back be kept for the tools of a pack that leave it open."""
    tools = {
        name: tool
        if tool.open_result is None
        else replace(tool, learns=LearntFrom(place, tool.original or tool.tool, version_of(tool)))
        for name, tool in pack.tools.items()
    }
    return replace(pack, tools=tools)


def digest_of(*parts: object) -> str:
    """Return a short digest of JSON values."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
