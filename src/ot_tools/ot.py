"""OneTool itself: its version, health, packs and tools, and several calls at once."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import anyio.to_thread

import ot_packs.undo
from mcp_core.distribution import VERSION
from ot import introspect  # each of its rooms is loaded by the first tool that needs it
from ot.context import current
from ot.effects import idempotent, reads
from ot.errors import ApplyNotAloneError, ArgumentValueError, ConfigError, ToolError
from ot.execution.wording import word_error
from ot.journal.journal import APPLY, Journal
from ot.journal.recorded import describe_run
from ot.journal.reuse import Unknown
from ot.notify import append_message, find_topic
from ot.proxy import Servers, fill_prompt, list_prompts, list_resources, read_resource
from ot.registry.definitions import in_kernel
from ot.results.kept_values import KeptValues
from ot.results.page import Query
from ot.results.reader import ResultReader
from ot.run.answer import RunAnswer
from ot.run.patience import LONGEST_WAIT
from ot.run.runs import Runs
from ot.run.snippets import expand_with
from ot.shapes.shapes import Shapes
from ot.stats.statistics import Statistics
from ot.store.parts import MOST_RUNS

pack = "ot"


@reads
async def version() -> str:
    """Return the version of OneTool.

    Returns:
        The version, such as "1.0.0".

    Example:
        ot.version()
    """
    return VERSION


@reads
async def tools(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the available tools.

    Args:
        pattern: Only tools whose name contains this, ignoring case.
        info: "list" for names only, "min" with descriptions, "full" with signature, arguments and example.

    Returns:
        The tools by name.

    Example:
        ot.tools(pattern="proj.", info="full")
    """
    context = current()
    await introspect.wait_for_servers(context, introspect.concerns_tools(pattern, context.registry))
    introspect.note_switched_off(context, pattern)
    await introspect.note_contents(context, pattern)
    if info == "list":
        introspect.note_refused(context, pattern)
    marked = map(introspect.marking(context.settings.policy, context.caller), context.registry.definitions())
    return introspect.list_tools(marked, pattern, info, signature_of=_signatures())


@reads
async def packs(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the available packs.

    Args:
        pattern: Only packs whose name contains this, ignoring case.
        info: "list" for names only, "min" with source, number of tools and description, "full" with all details.

    Returns:
        The packs by name.

    Example:
        ot.packs(pattern="proj", info="full")
    """
    context = current()
    await introspect.wait_for_servers(context, introspect.concerns_packs(pattern))
    introspect.note_switched_off(context, pattern)
    await introspect.note_contents(context, pattern)
    return introspect.list_packs(context.registry.packs(), pattern, info, instructions=context.settings.prompts.packs)


@reads
async def aliases(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[Any]:
    """List the aliases: short names for tools.

    Args:
        pattern: Only aliases whose name or target contains this, ignoring case.
        info: "list" for names only, "min" for "name -> target", "full" for name and target as separate fields.

    Returns:
        The aliases by name.

    Example:
        ot.aliases(info="full")
    """
    return introspect.list_aliases(current().settings.aliases, pattern, info)


@reads
async def snippets(*, pattern: str = "", info: Literal["list", "min", "full"] = "min") -> list[str] | str:
    """List the snippets: code templates that run as $name key=value.

    Args:
        pattern: Only snippets whose name or description contains this, ignoring case.
        info: "list" for names only, "min" with descriptions, "full" for text with parameters, body and example.

    Returns:
        The snippets by name; with "full", text.

    Example:
        ot.snippets(info="list")
    """
    settings = current().settings.snippets
    return introspect.list_snippets(settings, pattern, info, expand=expand_with(settings))


@reads
async def help(*, query: str | list[str] = "", info: Literal["list", "min", "full"] = "min") -> str:
    """Find the right tool, or explain one tool, pack, $snippet or alias.

    Args:
        query: A name, or what you want to do in plain words; a list asks several things at once; without a query you
            get an overview.
        info: "list" for names only, "min" with descriptions, "full" for everything.

    Returns:
        Text of limited length, however much there is.

    Example:
        ot.help(query=["read a pdf", "send a mail"])
    """
    context = current()
    settings, queries = context.settings, [query] if isinstance(query, str) else query
    registry, snippets = context.registry, settings.snippets
    concerns = introspect.concerns_help(queries, registry, settings.aliases, snippets)
    await introspect.wait_for_servers(context, concerns)
    catalogue = await context.part(introspect.Finder).catalogue(settings)
    mark = introspect.marking(settings.policy, context.caller)
    answers = introspect.Help(registry, settings, catalogue, expand_with(snippets), _signatures(), mark)
    text = await answers.answer(queries, info)
    contents = await introspect.name_contents(context, queries)
    if answers.unmatched and settings.registry.suggest:
        contents = "\n\n".join(filter(None, [contents, await introspect.suggest_servers(settings, answers.unmatched)]))
    return f"{text}\n\n{contents}" if contents else text


def _signatures() -> introspect.SignatureOf:
    """Return the function that writes the signatures of tools for the caller."""
    return partial(current().part(Shapes).signature, principal=current().caller.principal)


@reads
async def health() -> dict[str, Any]:
    """Report what works, what does not, and why.

    Returns:
        Versions, numbers of packs and tools, pack files that could not be read, names that two packs claim, how runs
        are confined, the state of every server and worker, tools whose definition has not been accepted, and the
        number of calls that still run after being cancelled.

    Example:
        ot.health()["problems"]
    """
    report = await current().part(introspect.Health).report()
    waiting = current().part(introspect.Reload).waiting
    return {**report, "next_start": waiting} if waiting else report


@reads
async def resources(*, server: str = "") -> list[dict[str, Any]]:
    """List the resources that MCP servers offer.

    Args:
        server: Only those of this server.

    Returns:
        Server, address, name and kind of each resource; an address template is under uri_template. A server that
        could not be asked is listed with its error.

    Example:
        ot.resources()
    """
    return await list_resources(current().part(Servers), server)


@reads
async def read(*, uri: str, server: str = "") -> Any:
    """Read a resource of an MCP server.

    Args:
        uri: The address of the resource, as ot.resources() lists it, or filled in from an address template.
        server: The server that has it, if the address alone is not enough.

    Returns:
        Its text, an image, or its bytes; a list if it has several parts.

    Example:
        ot.read(uri="demo://resource/static/document/features.md")
    """
    return await read_resource(current().part(Servers), uri, server)


@reads
async def prompts(*, name: str = "", arguments: dict[str, Any] | None = None, server: str = "") -> list[dict[str, Any]]:
    """List the prompts that MCP servers offer, or fill one in.

    Args:
        name: The prompt to fill in; without it, all prompts are listed with their arguments.
        arguments: The values to fill it in with.
        server: Only that server's prompts.

    Returns:
        Server, name, description and arguments of each prompt; or role and content of each message of the named one.

    Example:
        ot.prompts(name="args-prompt", arguments={"city": "Bern"})
    """
    servers = current().part(Servers)
    if name:
        return await fill_prompt(servers, name, arguments or {}, server)
    return await list_prompts(servers, server)


@idempotent
async def stats(*, period: str = "all", tool: str = "", output: str = "") -> dict[str, Any]:
    """Report what was called, how it went, and what it saved.

    Args:
        period: "day", "week", "month" or "all".
        tool: Only this tool, such as "proj.path", or only this pack.
        output: An .html file, relative to the project, to write a report for the browser to.

    Returns:
        Calls and their success rate, estimated tokens and milliseconds saved (negative where it cost more), the
        breakdown, figures for each tool, clients, models, and the path of the report if one was written.

    Example:
        ot.stats(period="week", output="stats.html")
    """
    return await current().part(Statistics).report(period=period, tool=tool, output=output)


@reads
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
    """Read a stored result page by page, by the handle given in an answer that was too long to show.

    Text keeps its own lines; a list or mapping has one line per item. A page holds about as much as an answer can show:
    `has_more` says whether there is more. `ot.load` returns the whole value to code.

    Args:
        handle: The handle from the answer, such as "k7w2m9x4qd".
        offset: The first line to return, counted from 1; with search, counted among the matching lines.
        limit: Maximum number of lines to return.
        search: Only lines that match this regular expression.
        fuzzy: Search for similar lines instead, most similar first.
        path: Only part of a structure (or of JSON text): "items[*].id", "rows[-1]", 'meta["a key"]'.
        column: The column to start from, for lines so long that they are cut.

    Returns:
        lines, total_lines, returned, offset and has_more; with search also matches and numbers (line numbers).

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


@reads
async def load(*, handle: str) -> Any:
    """Return the whole value of a stored result to code.

    Args:
        handle: The handle from the answer, such as "k7w2m9x4qd".

    Returns:
        The value: text, list, dict or whatever the earlier run returned.

    Example:
        sum(row["amount"] for row in ot.load(handle="k7w2m9x4qd"))
    """
    return await current().part(ResultReader).load(handle)


@idempotent
async def keep(*, name: str, value: Any) -> dict[str, Any]:
    """Keep a value under a name for later runs, replacing any earlier value of that name.

    It is kept for this project, for as long as a stored result. Values of any size can be kept, up to 64 MB as text.

    Args:
        name: The name: letters, digits, "_", "-" and ".".
        value: The value: text, numbers, lists, dicts, dates and so on.

    Returns:
        name, handle (for ot.result), type, size in bytes, lines, and expires_in, in seconds.

    Example:
        ot.keep(name="rows", value=[{"id": 1}, {"id": 2}])
    """
    return await current().part(KeptValues).keep(current(), name, value)


@reads
async def kept(*, name: str = "") -> Any:
    """Return a value that an earlier run kept, or list the values that are kept.

    Args:
        name: The name that ot.keep gave it; without a name, all kept values of this project are listed.

    Returns:
        The value; or name, handle, type, size, lines and expires_in of each.

    Example:
        ot.kept(name="rows")
    """
    values = current().part(KeptValues)
    return await values.find(current(), name) if name else await values.describe_all(current())


@reads
async def wait(*, run: str, seconds: float = 45) -> RunAnswer:
    """Wait for a run that continues after its client was answered, and return its answer.

    Questions of the run are asked here; the time for that does not count.

    Args:
        run: The id from the answer, such as "r7k2m9xqd".
        seconds: How long to wait for its end, up to 60.

    Returns:
        run, running, is_error, text and attachments: the answer of the run, or, while it is running, what it has
        printed since and what it is doing.

    Example:
        ot.wait(run="r7k2m9xqd", seconds=45)
    """
    if not 0 <= seconds <= LONGEST_WAIT:
        raise ArgumentValueError(f"seconds must be between 0 and {LONGEST_WAIT:g}, got {seconds:g}")
    context = current()
    context.hold()  # it has a limit of its own
    try:
        return RunAnswer.of(run, await context.part(Runs).wait(run, seconds=seconds, caller=context.caller))
    finally:
        context.release()


@idempotent
async def stop(*, run: str) -> str:
    """Stop a run that continues after its client was answered.

    Args:
        run: The id from the answer, such as "r7k2m9xqd".

    Returns:
        What it had printed, and where it was.

    Example:
        ot.stop(run="r7k2m9xqd")
    """
    return await current().part(Runs).stop(run, caller=current().caller)


@reads
async def runs(*, limit: int = 20) -> list[dict[str, Any]]:
    """List the latest runs of this project in the journal, newest last.

    Args:
        limit: Maximum number of runs.

    Returns:
        For each: run, began, seconds, outcome (value, nothing, error or cancelled; empty while it is running, or if
        its server was killed), error, the run that it resumed, and the beginning of its command.

    Example:
        ot.runs(limit=5)
    """
    if limit < 1:
        raise ArgumentValueError(f"limit must be at least 1, got {limit}")
    context = current()
    recent = partial(context.part(Journal).recent, context.caller.principal, most=min(limit, MOST_RUNS))
    found = await anyio.to_thread.run_sync(recent)
    for run in found:
        context.caller.memory.note(run.read)
    return [describe_run(run) for run in found]


@reads
async def resume(*, run: str, unknown: Literal["tell", "repeat", "skip"] = "tell") -> dict[str, Any]:
    """Continue from an earlier run: calls equal to its successful ones are answered without being made again.

    Use it as the first statement of the corrected code. Calls that only read are made again after a new side effect.

    Args:
        run: The id of the run, from its answer.
        unknown: What to do about a call that may or may not have had its side effect: "tell" raises an error that
            names it, "repeat" makes it again, "skip" continues without it, with None as its result.

    Returns:
        The run, how many of its calls can be answered, how many of those had side effects, and the unknown ones.

    Example:
        ot.resume(run="r7k2m9xqd")
    """
    return await current().part(Journal).resume(current().caller, run, Unknown(unknown))


async def undo(*, run: str) -> Any:
    """Take back what a run has changed: files, folders, notes, git. The person is asked first, and shown what.

    What has changed since is left as it is. An undo is a run too, and can be undone.

    Args:
        run: The id of the run, from its answer or from ot.runs.

    Returns:
        run, cannot_be_taken_back (calls), undone (changes), left (changes with the reason), and a note.

    Example:
        ot.undo(run="r7k2m9xqd")
    """
    return await ot_packs.undo.undo_run(current(), run)


@reads
async def preview() -> None:
    """Show what the code of this run would do, without doing it. Use it as the first statement.

    Calls that only read are made. Any other is listed with its arguments, with what would become of it (asked about,
    denied) and, for files, with what it would change; it gives a stand-in, and where the code needs the result itself,
    the preview ends. Its answer has the id for ot.apply.

    Returns:
        Nothing: the list of calls is the answer of the run.

    Example:
        ot.preview()
        file.write(path="notes.txt", content="Done")
    """
    await current().part(Runs).preview(current().caller)


async def apply(*, preview: str, calls: list[int] | None = None) -> Any:
    """Run the code of a preview; it may do what the preview listed, and nothing else. Alone in its command, and once.

    A call that may change something and is not on the list, or a file that is not as the preview showed it, ends the
    run before that happens.

    Args:
        preview: The id from the answer of the preview.
        calls: The numbers of the calls that are wanted, written out as numbers; the code gets a PermissionError for the
            others. Without it, all are.

    Returns:
        What the code returns.

    Example:
        ot.apply(preview="r7k2m9xqd")
    """
    raise ApplyNotAloneError(APPLY)


@reads
async def config() -> dict[str, Any]:
    """Show the configured aliases, snippets and servers.

    Returns:
        Aliases with the tools they stand for, snippets with their descriptions, and the names of the servers.

    Example:
        ot.config()["aliases"]
    """
    settings = current().settings
    snippets = {name: {"description": each.description} for name, each in settings.snippets.items()}
    return {"aliases": dict(settings.aliases), "snippets": snippets, "servers": list(settings.servers)}


async def notify(*, topic: str, message: str) -> str:
    """Leave a message, which is appended to the file configured for its topic.

    Args:
        topic: The subject, such as "notes" or "build:failed"; `topics` in the configuration names its file.
        message: The text; it may have several lines.

    Returns:
        Where it was written, or "SKIP: no matching topic".

    Example:
        ot.notify(topic="notes", message="Remember to review PR #123")
    """
    found = find_topic(current().settings.topics, topic)
    if found is None:
        return "SKIP: no matching topic"
    await anyio.to_thread.run_sync(append_message, found.file, topic, message)
    return f"OK: appended to {found.file}"


@idempotent
async def reload() -> str:
    """Read the configuration from disk again, with any packs, extensions and servers that have changed.

    Runs and calls in progress continue. If the configuration has a mistake, the previous one stays in force.

    Returns:
        "OK: Configuration reloaded", followed by what takes effect only at the next start.

    Example:
        ot.reload()
    """
    try:
        return await current().part(introspect.Reload).reload()
    except ConfigError as error:
        raise ArgumentValueError(f"The configuration was not reloaded: {word_error(error)}") from error


@in_kernel
async def parallel(*calls: Any) -> list[Any]:
    """Make several calls at once, inside a run.

    Args:
        calls: Functions without arguments, such as lambdas that each call one tool.

    Returns:
        Their results, in the order of the calls.

    Example:
        ot.parallel(lambda: ot.packs(), lambda: proj.list())
    """
    raise ToolError("it takes functions, which exist only inside a run: call it from code in a run")


@in_kernel
async def pages(tool: Any, **arguments: Any) -> Any:
    """Iterate over all parts of what a tool has, inside a run; for tools that have `offset` and return `more`.

    Args:
        tool: The tool itself, not a call of it, such as excel.read; the arguments of its calls follow by name.

    Returns:
        An iterator over the values of its calls; a part is read when the code asks for it.

    Example:
        [row for part in ot.pages(excel.read, path="sales.xlsx") for row in part["rows"]]
    """
    raise ToolError("it takes a tool, which exists only inside a run: call it from code in a run")
