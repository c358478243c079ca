"""OneTool itself: its version, its health, its packs and tools, and several calls at once."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Any, Literal

from ot.context import current
from ot.errors import ToolError
from ot.introspect.health import Health
from ot.registry.definitions import ToolDefinition
from ot.registry.marks import in_kernel
from ot.stats.statistics import Statistics

pack = "ot"


async def version() -> str:
    """Tell which version of OneTool this is.

    Returns:
        The version, such as "1.0.0".

    Example:
        ot.version()
    """
    return installed_version("onetool")


async def tools(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the tools there are.

    Args:
        pattern: Only tools whose name contains this, in upper or lower case.
        info: "list" for names alone, "min" with descriptions, "full" for signature, arguments and example too.

    Returns:
        The tools by name.

    Example:
        ot.tools(pattern="demo.", info="full")
    """
    wanted = pattern.lower()
    found = [tool for tool in current().registry.definitions() if wanted in tool.name.lower()]
    if info == "list":
        return [tool.name for tool in found]
    if info == "min":
        return [{"name": tool.name, "description": tool.description} for tool in found]
    return [_describe(tool) for tool in found]


def _describe(tool: ToolDefinition) -> dict[str, Any]:
    docs = tool.docs
    parts = {
        "args": [f"{name}: {text}" for name, text in docs.arguments.items()],
        "returns": docs.returns,
        "example": docs.example,
    }
    known = {name: part for name, part in parts.items() if part}
    return {
        "name": tool.name,
        "signature": tool.signature,
        "description": tool.description,
        "source": tool.source,
        **known,
    }


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


async def health() -> dict[str, Any]:
    """Tell what works, what does not, and why.

    Returns:
        Versions, how many packs and tools there are, pack files that could not be read, names that two packs wanted,
        how runs are confined, the state of every worker, and the number of calls that still run though cancelled.

    Example:
        ot.health()["problems"]
    """
    return await current().part(Health).report()


async def stats(*, period: str = "all", tool: str = "", output: str = "") -> dict[str, Any]:
    """Tell what was called, how it went, and what it saved.

    Args:
        period: "day", "week", "month" or "all".
        tool: Only this tool, such as "demo.upper", or only this pack.
        output: A file ending in .html, relative to the project, for a report to look at.

    Returns:
        Calls and their success, estimated tokens of context and milliseconds saved (negative where it cost more),
        what these are made of, each tool's figures, clients, models, and the path of the report if one was written.

    Example:
        ot.stats(period="week", output="stats.html")
    """
    return await current().part(Statistics).report(period=period, tool=tool, output=output)


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
