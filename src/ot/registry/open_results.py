"""Declared results: those that leave open what comes back (`dict`, `list[Any]`), and those that a library has wrapped.

MCP wants structured content to be an object. The Python libraries put any other value into one with the single key
`result`, and say so in the output schema: by a mark, or by the title that they make up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from mcp_core.json_types import Json, resolve
from mcp_core.quick_dataclass import replace
from ot.registry.definitions import LearntFrom, ToolDefinition

KEY = "result"


def leaves_open(schema: object, root: object, level: int = 0) -> bool:
    """True if a schema does not say what a value has in it."""
    schema = resolve(root, schema)
    if not isinstance(schema, dict) or level > 8:
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


def learn_result(tool: ToolDefinition, place: str, version_of: Callable[[ToolDefinition], str]) -> ToolDefinition:
    """Let the shape of what comes back be kept for a tool that leaves it open."""
    if tool.open_result is None:
        return tool
    return replace(tool, learns=LearntFrom(place, tool.original or tool.tool, version_of(tool)))


def digest_of(*parts: object) -> str:
    """Return a short digest of JSON values."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_wrapped(output_schema: object) -> bool:
    """True if a library made the schema around a plain value."""
    if not isinstance(output_schema, dict):
        return False
    if output_schema.get("x-fastmcp-wrap-result") is True:
        return True
    properties, title = output_schema.get("properties"), output_schema.get("title")
    made_up = isinstance(title, str) and title.endswith("Output") and output_schema.get("required") == [KEY]
    return made_up and isinstance(properties, dict) and list(properties) == [KEY]


def result_schema(output_schema: object) -> Json:
    """The schema of the value that code gets; None where the server says nothing of it."""
    if not isinstance(output_schema, dict):
        return None
    if not is_wrapped(output_schema):
        return output_schema
    properties = output_schema.get("properties")
    inner = properties.get(KEY) if isinstance(properties, dict) else None
    if not isinstance(inner, dict):
        return None
    # References inside it are written from the outer one.
    return {**inner, **{key: output_schema[key] for key in ("$defs", "definitions") if key in output_schema}}
