"""An example of a tool, to copy from: imported only where MCP_INCLUDE_EXAMPLE_TOOLS is "true"."""

from __future__ import annotations

from pydantic import Field

from mcp_core import Result, ToolArguments


class GreetArgs(ToolArguments):
    """Arguments of greet: one field is one argument."""

    name: str = Field(min_length=1, max_length=100, description="Who to greet")


@ToolArguments.declare
def greet(args: GreetArgs) -> Result[str]:
    """Greet someone; shows how a tool is declared, described and answered."""
    return Result.ok(f"Hello, {args.name}!", message="This tool is an example.")
