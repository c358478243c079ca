"""A real registry with tools that only exist by name."""

from __future__ import annotations

from typing import Any

from ot.registry.definitions import Cancellation, ToolDefinition
from ot.registry.registry import ToolRegistry


async def _never_called(_: dict[str, Any]) -> None:
    raise AssertionError("nothing here calls a tool")


def define(
    name: str, *parameters: str, optional: tuple[str, ...] = (), closed: bool = True, **fields: Any
) -> ToolDefinition:
    """A definition whose parameters are all strings."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter: {"type": "string"} for parameter in (*parameters, *optional)},
        "required": list(parameters),
    }
    if closed:
        schema["additionalProperties"] = False
    words = [f"{word}: str" for word in parameters] + [f"{word}: str = ''" for word in optional]
    signature = f"{name}(*, {', '.join(words)}) -> str" if words else f"{name}() -> str"
    cancellation = fields.pop("cancellation", Cancellation.ASYNC)
    return ToolDefinition(name, "Something.", schema, signature, cancellation, **fields)


def registry_of(*definitions: ToolDefinition) -> ToolRegistry:
    """A registry with these tools."""
    registry = ToolRegistry()
    for definition in definitions:
        registry.register(definition, _never_called)
    return registry
