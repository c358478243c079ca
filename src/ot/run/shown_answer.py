"""The data by which a view shows an answer: rows, what was stored, the calls of a preview, and servers' own views.

It stands in `_meta` beside the text, which is for the model: a view shows what is not here as that text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject
from ot.clients.caller import Caller, previews
from ot.clients.shown import ShownCall
from ot.run.outcome import Failure, Outcome, Value
from ot.run.preview_answer import can_be_applied, describe_call
from ot.run.view_handles import Grant, ViewHandles
from ot.text.output import escape_surrogates, render
from ot.text.redaction import Redactor
from ot.values import Rows, ToolValue
from ot_kernel.values import Audio, Image, Resource

if TYPE_CHECKING:
    from ot.execution.plans import Preview
    from ot.execution.tool_executor import ToolExecutor

MOST_ROWS = 1_000
MOST_SIZE = 512 * 1024  # characters of rows, or of one call's result
_MOST_COLUMNS = 200
_LONGEST_CELL = 2_000  # characters
_EXACT = 2**53  # whole numbers beyond it lose digits in a browser
_TOO_LARGE = "The answer of this call is too large to be shown here."


async def show_answer(outcome: Outcome, caller: Caller, executor: ToolExecutor, handles: ViewHandles) -> JsonObject:
    """Return the data for the view of an answer; raises OSError."""
    stored = outcome.stored.handle if isinstance(outcome, Value) and outcome.stored is not None else ""
    printed = "" if outcome.printed.stored is None else outcome.printed.stored.handle
    preview = previews(caller)
    found: JsonObject = {"run": caller.run_id}
    found["handle"] = await handles.make(Grant(caller.run_id, stored or printed, preview), caller)
    found |= await anyio.to_thread.run_sync(_describe, outcome, caller, executor)
    calls = [] if caller.shown is None else [*caller.shown.calls]
    if calls:
        views: list[Json] = []
        for call in calls:
            handle = await handles.make(Grant(caller.run_id, server=call.server, view=call.view), caller)
            views.append({"handle": handle, **await anyio.to_thread.run_sync(describe_shown, call, executor.redactor)})
        found["views"] = views
    return found


async def show_going_on(run: str, caller: Caller, handles: ViewHandles) -> JsonObject:
    """Return the data for the view of an answer whose run goes on; raises OSError."""
    return {"run": run, "going": True, "handle": await handles.make(Grant(run), caller)}


def _describe(outcome: Outcome, caller: Caller, executor: ToolExecutor) -> JsonObject:
    """Describe an outcome. Blocking: it takes time with the number of rows."""
    found: JsonObject = {}
    if previews(caller):
        assert caller.run_memory is not None
        return {"preview": _describe_preview(cast("Preview", caller.run_memory.plan), executor)}
    if isinstance(outcome, Failure):
        return {"failed": True}
    if outcome.printed.text:
        text, most = outcome.printed.text, executor.settings.results.inline_limit
        found["printed"] = escape_surrogates(text if len(text) <= most else f"{text[:most]}…")
    stored = outcome.printed.stored
    if isinstance(outcome, Value):
        stored = outcome.stored or stored
        rows = rows_of(outcome.value)
        if rows is not None:
            found["rows"] = describe_rows(rows, total=outcome.total if rows is outcome.value else None)
        elif outcome.stored is None and outcome.total is None and not (outcome.value is None and found):
            found["text"] = escape_surrogates(render(outcome.value, limit=executor.settings.results.inline_limit).text)
    if stored is not None:
        facts = stored.facts
        found["stored"] = {"handle": stored.handle, "kind": facts.what, "size": facts.size, "lines": facts.lines}
    return found


def rows_of(value: ToolValue) -> Sequence[object] | None:
    """Return the rows that a value is, or has as its only list of them; None if it has none."""
    if isinstance(value, Rows):
        value = value.to_list()
    if isinstance(value, Mapping):
        fields = [field.to_list() if isinstance(field, Rows) else field for field in value.values()]
        tables = [field for field in fields if _are_rows(field)]
        return cast("Sequence[object]", tables[0]) if len(tables) == 1 else None
    return cast("Sequence[object]", value) if _are_rows(value) else None


def _are_rows(value: object) -> bool:
    some = [*islice(value, 20)] if isinstance(value, list | tuple) else []
    return bool(some) and all(isinstance(row, Mapping) and row for row in some)


def describe_rows(rows: Sequence[object], *, total: int | None = None) -> JsonObject:
    """Return rows as a table: the names of columns, and a list of cells for each row."""
    taken = [row for row in islice(rows, MOST_ROWS) if isinstance(row, Mapping)]
    names = [*dict.fromkeys(name for row in taken for name in row)][:_MOST_COLUMNS]
    cells: list[Json] = []
    size = 0
    for row in taken:
        line: list[Json] = [_cell(row.get(name)) for name in names]
        size += len(json.dumps(line))
        if size > MOST_SIZE:
            break
        cells.append(line)
    columns: list[Json] = [escape_surrogates(str(name))[:_LONGEST_CELL] for name in names]
    return {"columns": columns, "cells": cells, "total": max(total or 0, len(rows))}


def _cell(value: object) -> Json:
    match value:
        case None | bool():
            return value
        case int() if abs(value) < _EXACT:
            return value
        case float() if math.isfinite(value):
            return value
        case Image() | Audio() | Resource():
            return f"[{type(value).__name__.lower()}]"
    text = value if isinstance(value, str) else render(value, limit=_LONGEST_CELL).text
    return escape_surrogates(text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…")


def _describe_preview(preview: Preview, executor: ToolExecutor) -> JsonObject:
    calls: list[Json] = []
    for listed in preview.listed:
        name, arguments, fate, changes = describe_call(listed, executor)
        call: JsonObject = {"number": listed.call.number, "name": name, "arguments": [*arguments], "fate": fate}
        calls.append(call | {"changes": changes, "refused": bool(listed.call.refused), "reads": listed.call.reads})
    return {"calls": calls, "applicable": can_be_applied(preview), "end": [*preview.ending]}


def describe_shown(call: ShownCall, redactor: Redactor) -> JsonObject:
    """Describe a call as its server's view is told of it, without secrets. Blocking."""
    arguments = redactor.value(call.arguments)
    small = arguments if _size(arguments) <= MOST_SIZE else {}
    result = bounded_result(call.result, redactor, most=MOST_SIZE)
    return {"server": call.server, "tool": call.tool, "view": call.view, "arguments": small, "result": result}


def bounded_result(result: JsonObject, redactor: Redactor, *, most: int) -> JsonObject:
    """Return a server's answer without secrets, and without what makes it too large."""
    found = cast("JsonObject", redactor.value(result))
    if _size(found) > most:
        found = {name: value for name, value in found.items() if name != "_meta"}
    if _size(found) > most:
        found = {"content": [{"type": "text", "text": _TOO_LARGE}], "isError": True}
    return found


def _size(value: object) -> int:
    return len(json.dumps(value, default=str))
