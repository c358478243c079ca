"""Requests of the view of an answer: more of it, how its run goes on, and what the view of a server asks its server.

Each is a call of a tool through the door, or a look at a run. The handle says what it may be about.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import Caller
from ot.clients.shown import ShownCalls
from ot.context import current
from ot.errors import CallError, NoDetachedRunError, ToolError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.proxy import open_view, read_for_view, tool_for_view
from ot.results.lines import read_items
from ot.results.reader import ResultReader
from ot.run.answer import Answer
from ot.run.shown_answer import MOST_ROWS, bounded_result, describe_rows, rows_of
from ot.run.view_handles import Grant
from ot.values import ToolValue, expanded

if TYPE_CHECKING:
    from ot.proxy import Servers
    from ot.run.runs import Runs

MOST_ANSWERED = 8 * 1024 * 1024  # characters of what a server answers to its view
_MOST_LINES = 200
_NOT_GOOD = "This handle is not good for that."


@dataclass(frozen=True, slots=True)
class ViewParts:
    """The parts of an engine that carry out such requests."""

    executor: ToolExecutor
    servers: Servers
    runs: Runs


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """One request, with what its handle is good for."""

    ask: str
    grant: Grant
    options: JsonObject

    async def make(self, parts: ViewParts, caller: Caller) -> Answer:
        """Carry it out; what comes of it is for the view, and no text."""
        carry_out = _OF_SERVERS.get(self.ask) if self.grant.server else _OF_ANSWERS.get(self.ask)
        if carry_out is None:
            return _refuse(_NOT_GOOD)
        try:
            return await carry_out(self, parts, caller)
        except CallError as error:
            return _refuse(word_error(error))

    def number(self, name: str, *, least: int, most: int) -> int:
        found = self.options.get(name)
        return min(max(found, least), most) if type(found) is int else least


def word_apply(grant: Grant, options: JsonObject) -> str:
    """Return the command that applies the preview of a grant, or only some of its calls; empty if it is of none."""
    if not grant.preview or grant.server:
        return ""
    chosen = options.get("calls")
    if chosen is None:
        return f'ot.apply(preview="{grant.run}")'
    numbers = [number for number in chosen if type(number) is int] if isinstance(chosen, list) else []
    return f'ot.apply(preview="{grant.run}", calls={sorted(numbers)})'


def _refuse(reason: str) -> Answer:
    return Answer(reason, is_error=True, shown={"error": reason})


# -- of the answer itself


async def _page(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    """Read lines of what was stored."""
    if not asked.grant.stored:
        return _refuse(_NOT_GOOD)
    arguments: JsonObject = {"handle": asked.grant.stored}
    arguments["offset"] = asked.number("offset", least=1, most=2**53)
    arguments["limit"] = asked.number("limit", least=1, most=_MOST_LINES)
    if isinstance(search := asked.options.get("search"), str) and search:
        arguments["search"] = search
    found = await parts.executor.call("ot.result", arguments, caller=caller)
    return Answer("", shown={"page": cast("Json", found)})


async def _rows(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    """Read rows of what was stored."""
    handle = asked.grant.stored
    if not handle:
        return _refuse(_NOT_GOOD)
    first = asked.number("offset", least=0, most=2**53)
    most = asked.number("limit", least=1, most=MOST_ROWS)

    async def instead(_: dict[str, ToolValue]) -> ToolValue:
        stored = await current().part(ResultReader).load(handle)
        items, total = await anyio.to_thread.run_sync(partial(read_items, stored, first, most))
        rows = rows_of([expanded(item) for item in items])
        return {**describe_rows(rows or []), "total": total, "offset": first}

    found = await parts.executor.call("ot.load", {"handle": handle}, caller=caller, instead=instead)
    return Answer("", shown={"rows": cast("Json", found)})


async def _look(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    """See how the run of the answer goes on; once it has ended, this has its answer."""
    run = asked.grant.run
    seen = await parts.runs.look(run, caller, {})
    if seen is not None:
        return Answer("", shown={"going": True, "message": seen.message})
    try:
        found = await parts.runs.wait(run, seconds=0.0, caller=caller)
    except NoDetachedRunError:
        return _refuse(f"Run {run} has ended, and its answer is not kept.")
    if found.running:
        return Answer("", shown={"going": True, "message": ""})
    shown = found.shown or {"run": run, "failed": found.is_error}
    return Answer(found.text, found.is_error, found.attachments, shown=shown)


# -- of a server's view


async def _open(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    server, view = asked.grant.server, asked.grant.view
    return Answer("", shown={"page": await _through_door(view, parts, caller, partial(open_view, server=server))})


async def _read(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    uri = asked.options.get("uri")
    if not isinstance(uri, str):
        raise ToolError("a resource has an address")
    work = partial(read_for_view, server=asked.grant.server)
    found = cast("JsonObject", await _through_door(uri, parts, caller, work))
    return Answer("", shown={"result": bounded_result(found, parts.executor.redactor, most=MOST_ANSWERED)})


async def _through_door(
    uri: str, parts: ViewParts, caller: Caller, work: Callable[[Servers, str], Awaitable[JsonObject]]
) -> Json:
    async def instead(_: dict[str, ToolValue]) -> ToolValue:
        return await work(parts.servers, uri)

    return cast("Json", await parts.executor.call("ot.read", {"uri": uri}, caller=caller, instead=instead))


async def _call(asked: ViewRequest, parts: ViewParts, caller: Caller) -> Answer:
    """Call a tool of the server whose view this is; what comes back is what the server said."""
    taken = ShownCalls(of_view=True)
    name = await tool_for_view(parts.servers, asked.grant.server, asked.options.get("name"))
    arguments = dict(mapping_of(asked.options.get("arguments")))
    try:
        await parts.executor.call(name, arguments, caller=replace(caller, shown=taken))
    except CallError as error:
        failed: JsonObject = {"content": [{"type": "text", "text": word_error(error)}], "isError": True}
        return Answer("", shown={"result": failed})
    if not taken.calls:
        raise ToolError("its answer is not at hand any more")
    return Answer(
        "", shown={"result": bounded_result(taken.calls[-1].result, parts.executor.redactor, most=MOST_ANSWERED)}
    )


_Carry = Callable[[ViewRequest, ViewParts, Caller], Awaitable[Answer]]
_OF_ANSWERS: dict[str, _Carry] = {"page": _page, "rows": _rows, "look": _look}
_OF_SERVERS: dict[str, _Carry] = {"open": _open, "read": _read, "call": _call}
ASKS = ("apply", *_OF_ANSWERS, *_OF_SERVERS)
