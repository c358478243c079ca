"""Results that a server's library has wrapped: `{"result": value}` where the tool itself gave only the value.

MCP wants structured content to be an object. The Python libraries put any other value into one with the single key
`result`, and say so in the output schema: by a mark, or by the title that they make up.
"""

from __future__ import annotations

from mcp_core.json_types import Json

KEY = "result"
_MARK = "x-fastmcp-wrap-result"


def is_wrapped(output_schema: object) -> bool:
    """True if a library made the schema around a plain value."""
    if not isinstance(output_schema, dict):
        return False
    if output_schema.get(_MARK) is True:
        return True
    properties, title = output_schema.get("properties"), output_schema.get("title")
    return (
        isinstance(properties, dict)
        and list(properties) == [KEY]
        and output_schema.get("required") == [KEY]
        and isinstance(title, str)
        and title.endswith("Output")
    )


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
