"""OneTool itself: its version, its health, its packs and tools, and several calls at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version as installed_version
from typing import Any, Literal

from ot.config.models import SnippetSettings
from ot.context import current
from ot.errors import ArgumentValueError, ToolError
from ot.introspect.finder import Finder
from ot.introspect.health import Health
from ot.introspect.help import Help
from ot.introspect.listings import list_aliases, list_packs, list_snippets, list_tools
from ot.introspect.snippet_text import Expand
from ot.registry.marks import in_kernel
from ot.results.page import Query
from ot.results.reader import ResultReader
from ot.run.snippets import Snippets
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
    return list_tools(current().registry.definitions(), pattern, info)


async def packs(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the packs there are.

    Args:
        pattern: Only packs whose name contains this, in upper or lower case.
        info: "list" for names alone, "min" with source and number of tools, "full" for instructions and tools too.

    Returns:
        The packs by name.

    Example:
        ot.packs(pattern="demo", info="full")
    """
    context = current()
    return list_packs(context.registry.packs(), pattern, info, instructions=context.settings.prompts.packs)


async def aliases(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the aliases: short names for tools.

    Args:
        pattern: Only aliases whose name or target contains this, in upper or lower case.
        info: "list" for names alone, "min" for "name -> target", "full" for both apart.

    Returns:
        The aliases by name.

    Example:
        ot.aliases(info="full")
    """
    return list_aliases(current().settings.aliases, pattern, info)


async def snippets(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[str] | str:
    """List the snippets: templates of code that are started as $name key=value.

    Args:
        pattern: Only snippets whose name or description contains this, in upper or lower case.
        info: "list" for names alone, "min" with descriptions, "full" for a text with parameters, body and example.

    Returns:
        The snippets by name; in full, a text.

    Example:
        ot.snippets(info="list")
    """
    settings = current().settings.snippets
    return list_snippets(settings, pattern, info, expand=_expand_with(settings))


async def help(*, query: str | list[str] = "", info: Literal["list", "min", "full"] = "min") -> str:
    """Find the tool for a need, or explain one tool, pack, $snippet or alias.

    Args:
        query: A name, or what is to be done, in plain words; a list asks several things at once; nothing gives an
            overview.
        info: "list" for names alone, "min" with descriptions, "full" for all that is known.

    Returns:
        A text of bounded length, however much there is.

    Example:
        ot.help(query=["read a pdf", "send a mail"])
    """
    context = current()
    catalogue = await context.part(Finder).catalogue(context.settings)
    answers = Help(context.registry, context.settings, catalogue, _expand_with(context.settings.snippets))
    return answers.answer([query] if isinstance(query, str) else query, info)


def _expand_with(settings: Mapping[str, SnippetSettings]) -> Expand:
    def expand(invocation: str) -> tuple[str, Mapping[str, str]]:
        expanded = Snippets(settings).expand(invocation)
        return expanded.code, expanded.values

    return expand


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


async def result(
    *,
    handle: str,
    offset: int = 1,
    limit: int = 100,
    search: str = "",
    fuzzy: bool = False,
    path: str = "",
    column: int = 1,
) -> dict[str, Any]:
    """Read a stored result page by page: an answer that was too long to show gave its handle.

    Text has its own lines; of a list or mapping every item is a line. A page holds about as much as an answer can show:
    `has_more` tells whether to go on. `ot.load` gives the whole value to code.

    Args:
        handle: The handle from the answer, such as "k7w2m9x4qd".
        offset: The first line wanted, counted from 1; with search, the first of the matching lines.
        limit: How many lines at most.
        search: Only lines that match this regular expression.
        fuzzy: Search for lines that are similar instead, the most similar first.
        path: Only a part of a structure (or of text that is JSON): "items[*].id", "rows[-1]", 'meta["a key"]'.
        column: Where in its lines to begin, for lines so long that they are cut.

    Returns:
        lines, total_lines, returned, offset and has_more; with search also matches and the lines' numbers.

    Example:
        ot.result(handle="k7w2m9x4qd", search="error|warning", limit=20)
    """
    if offset < 1:
        raise ArgumentValueError(f"offset must be >= 1 (1-indexed), got {offset}")
    if limit < 1:
        raise ArgumentValueError(f"limit must be >= 1, got {limit}")
    if column < 1:
        raise ArgumentValueError(f"column must be >= 1 (1-indexed), got {column}")
    if fuzzy and not search:
        raise ArgumentValueError("fuzzy=True needs a text to search for: search=...")
    query = Query(offset=offset, limit=limit, search=search, fuzzy=fuzzy, path=path, column=column)
    return await current().part(ResultReader).query(handle, query)


async def load(*, handle: str) -> Any:
    """Give the whole value of a stored result back to code, as it was.

    Args:
        handle: The handle from the answer, such as "k7w2m9x4qd".

    Returns:
        The value: text, list, dict or whatever the earlier run returned.

    Example:
        sum(row["amount"] for row in ot.load(handle="k7w2m9x4qd"))
    """
    return await current().part(ResultReader).load(handle)


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
