"""Runs: those in progress with their calls, those of the last day, and failed ones with the log; stored results."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

import anyio.to_thread
from starlette.responses import Response

from mcp_core.quick_dataclass import replace
from onetool.dashboard.short_cache import ShortCache
from onetool.dashboard.views.questions import with_questions
from onetool.dashboard.views.statistics import summarize
from onetool.dashboard.visit import Visit
from onetool.log_entries import LogEntry, read_recent
from ot.config.loader import LoadedConfig
from ot.config.paths import kept_log
from ot.effects import Effect
from ot.errors import CallError, ExpiredResultError, StatsDisabledError, UnknownResultError
from ot.execution.wording import word_error
from ot.journal.journal import Journal, word_arguments
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun
from ot.results.kept_values import KeptValues
from ot.results.page import Query
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.live_run import new_run_id
from ot.run.runs import Runs

_MOST_RECENT = 30
_MOST_LOOKED = 500  # runs among which those that go on, or failed, are looked for
_MOST_UNFINISHED = 20
_MOST_CALLS = 12  # of a run in progress
_LONGEST_VALUE = 2000  # characters


class LiveRuns(NamedTuple):
    """The runs of one person at one moment, the newest first."""

    going_on: list[RecordedRun]
    ended: list[RecordedRun]


_cache: ShortCache[LiveRuns] = ShortCache()


async def show_live(visit: Visit) -> Response:
    journal = visit.who.part(Journal)
    principal = visit.who.person.principal
    runs = await _cache.get((journal, principal), lambda: _look(journal, principal))
    stoppable = set(await visit.who.part(Runs).detached_of(visit.who.caller))
    is_part, today = "live" in visit.query, None
    if not is_part:
        with suppress(StatsDisabledError):
            today = await summarize(visit, "day")
    return visit.show_live(
        "live.html.j2",
        "parts/runs.html.j2",
        runs=runs,
        now=time.time(),
        stoppable=stoppable,
        most_calls=_MOST_CALLS,
        word_call=word_call,
        today=today,
        **await with_questions(visit),
        servers=[] if is_part else visit.who.app.servers.status(),
    )


def _look(journal: Journal, principal: str) -> LiveRuns:
    recent = journal.recent(principal, most=_MOST_LOOKED)[::-1]
    going_on = journal.going_on([run for run in recent if not run.outcome][:_MOST_UNFINISHED])
    names = {run.id for run in going_on}
    return LiveRuns(going_on, list(islice((run for run in recent if run.id not in names), _MOST_RECENT)))


async def show_run(visit: Visit) -> Response:
    journal, name = visit.who.part(Journal), visit.request.path_params["run"]
    run = await anyio.to_thread.run_sync(lambda: journal.find(visit.who.person.principal, name, ended=False))
    running = not run.outcome and bool(await anyio.to_thread.run_sync(journal.going_on, [run]))
    return visit.show_live(
        "run.html.j2",
        "parts/run.html.j2",
        run=run,
        running=running,
        now=time.time(),
        stoppable=name in await visit.who.part(Runs).detached_of(visit.who.caller),
        **await with_questions(visit, name),
        undoable=not running and any(call.effect is not Effect.READS for call in run.calls),
        word_call=word_call,
        word_value=word_value,
    )


async def stop_run(visit: Visit) -> Response:
    await visit.form()
    name = visit.request.path_params["run"]
    await visit.who.app.executor.call("ot.stop", {"run": name}, caller=visit.who.caller)
    return visit.go_to(f"/runs/{name}?done=stopped")


async def preview_run(visit: Visit) -> Response:
    """Show what the code of a run would do now, as a run of its own."""
    await visit.form()
    journal, name = visit.who.part(Journal), visit.request.path_params["run"]
    run = await anyio.to_thread.run_sync(lambda: journal.find(visit.who.person.principal, name, ended=False))
    caller = replace(visit.who.caller, run_id=new_run_id())
    await visit.who.app.runner.run(run.command, caller, preview=True)
    return visit.go_to(f"/runs/{caller.run_id}")


def word_call(call: RecordedCall) -> str:
    return f"{call.tool}({word_arguments(call.arguments) if call.arguments_at is None else '…'})"


def word_value(call: RecordedCall) -> str:
    match call.outcome:
        case CallOutcome.ERROR:
            return call.error
        case CallOutcome.UNKNOWN:
            return "outcome unknown"
    if call.value_at is not None:
        return f"{call.value_at[2]:,} bytes"
    return str(call.value)[:_LONGEST_VALUE] if call.has_value else "(not kept)"


_MOST_RUNS = 30
_MOST_ENTRIES = 100


async def show_errors(visit: Visit) -> Response:
    """Show errors of the latest runs, and the log, which for a team's server is for administrators."""
    incident = visit.query.get("incident", "")[:64]
    latest = partial(visit.who.part(Journal).recent, visit.who.person.principal, most=_MOST_LOOKED)
    recent = await anyio.to_thread.run_sync(latest)
    failed = [run for run in reversed(recent) if run.error][:_MOST_RUNS]
    entries: list[LogEntry] = []
    problem = ""
    if visit.who.admin or not visit.who.person.issuer:  # it is their own log, or they are an administrator
        loaded = visit.who.part(LoadedConfig)
        file = loaded.config.log.file or kept_log(loaded.machine_home)
        try:
            entries = await anyio.to_thread.run_sync(read_recent, file, incident or None, _MOST_ENTRIES)
        except OSError as error:
            problem = f"{file} cannot be read: {error.strerror}"
    entries = [entry for entry in entries if entry.level in ("WARNING", "ERROR", "CRITICAL")][::-1]
    return visit.show("errors.html.j2", failed=failed, entries=entries, incident=incident, problem=problem)


_LINES = 100
_MOST_SHOWN = 500


async def list_results(visit: Visit) -> Response:
    stored = await anyio.to_thread.run_sync(partial(visit.who.part(ResultStore).all_now, most=_MOST_SHOWN + 1))
    context = visit.who.app.executor.context_for("ot.kept", visit.who.caller)
    kept = await visit.who.part(KeptValues).describe_all(context)
    names = {each["handle"]: each["name"] for each in kept}
    return visit.show(
        "results.html.j2",
        results=stored[::-1][:_MOST_SHOWN],
        more=len(stored) > _MOST_SHOWN,
        names=names,
        now=time.time(),
    )


async def show_result(visit: Visit) -> Response:
    """Show a page of a result: from a line on, of lines that match, or of a part of it."""
    handle, asked = visit.request.path_params["handle"], visit.query
    offset, search, path = (asked.get(name, "")[:500] for name in ("offset", "search", "path"))
    first = max(1, int(offset)) if offset.isdecimal() and len(offset) <= 12 else 1
    query = Query(offset=first, limit=_LINES, search=search, path=path)
    reader = visit.who.part(ResultReader)
    facts = await reader.facts(handle)
    problem, page = "", None
    try:
        page = await reader.query(handle, query)
    except (UnknownResultError, ExpiredResultError):
        raise
    except CallError as error:  # an invalid expression or path
        problem = word_error(error)
    return visit.show(
        "result.html.j2", handle=handle, facts=facts, page=page, query=query, problem=problem, now=time.time()
    )
