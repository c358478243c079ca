"""OneTool itself: its version, its packs and tools, and several calls at once."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Any

from ot.context import current
from ot.errors import ToolError
from ot.registry.marks import in_kernel

pack = "ot"


async def version() -> str:
    """Tell which version of OneTool this is.

    Returns:
        The version, such as "1.0.0".

    Example:
        ot.version()
    """
    return installed_version("onetool")


async def tools(*, pattern: str = "") -> list[dict[str, str]]:
    """List the tools there are.

    Args:
        pattern: Only tools whose name contains this, in upper or lower case.

    Returns:
        Name and description of each tool.

    Example:
        ot.tools(pattern="search")
    """
    wanted = pattern.lower()
    return [
        {"name": tool.name, "description": tool.description}
        for tool in current().registry.definitions()
        if wanted in tool.name.lower()
    ]


async def packs(*, pattern: str = "") -> list[dict[str, Any]]:
    """List the packs there are.

    Args:
        pattern: Only packs whose name contains this, in upper or lower case.

    Returns:
        Name, source and number of tools of each pack.

    Example:
        ot.packs(pattern="demo")
    """
    wanted = pattern.lower()
    return [
        {"name": found.name, "source": found.source.partition(":")[0], "tool_count": len(found.tools)}
        for found in current().registry.packs()
        if wanted in found.name.lower()
    ]


@in_kernel
async def parallel(*calls: Any) -> list[Any]:
    """Make several calls at once, inside a run.

    Args:
        calls: Functions without arguments, such as lambdas that each call one tool.

    Returns:
        What each of them returned, in their order.

    Example:
        ot.parallel(lambda: demo.upper(text="a"), lambda: demo.upper(text="b"))
    """
    raise ToolError("it takes functions, which only exist inside a run: write the call into the code of a run")
