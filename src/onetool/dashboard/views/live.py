"""Runs: those in progress with their calls as they are made, those of the last day, and failed ones with the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

import anyio
import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from onetool.log_entries import LogEntry, read_recent
from ot.config.loader import LoadedConfig
from ot.config.paths import kept_log
from ot.errors import StatsDisabledError
from ot.journal.journal import Journal, word_arguments
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun
from ot.run.runs import Runs
from ot.stats.figures import Summary
from ot.stats.statistics import Statistics

Value = TypeVar("Value")

_SHORTEST = 0.5  # seconds that a value is kept at least
_SHARE = 10  # how many times longer than its computation a value is kept
_MOST = 256
_MOST_RECENT = 30
_MOST_UNFINISHED = 20
_MOST_CALLS = 12  # of a run in progress
_LONGEST_VALUE = 2000  # characters


class _Entry(Generic[Value]):
    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.expires = 0.0
        self.value: Value | None = None


class ShortCache(Generic[Value]):
    """Keeps each value for a time that grows with the cost of computing it; concurrent requests compute it once."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[Hashable, _Entry[Value]] = {}

    async def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key; `compute` runs on a thread, and may block."""
        entry = self._entries.pop(key, None) or _Entry[Value]()
        self._entries[key] = entry  # as the latest
        while len(self._entries) > _MOST:
            del self._entries[next(iter(self._entries))]
        async with entry.lock:
            began = self._clock()
            if entry.value is None or began >= entry.expires:
                entry.value = await anyio.to_thread.run_sync(compute)
                took = self._clock() - began
                entry.expires = began + took + max(_SHORTEST, took * _SHARE)
            return entry.value


@dataclass(frozen=True, slots=True)
class LiveRuns:
    """The runs of one person at one moment, the newest first."""

    going_on: list[RecordedRun]
    ended: list[RecordedRun]


_cache: ShortCache[LiveRuns] = ShortCache()


async def show_live(visit: Visit) -> Response:
    journal = visit.who.part(Journal)
    principal = visit.who.person.principal
    runs = await _cache.get((journal, principal), lambda: _look(journal, principal))
    stoppable = set(await visit.who.part(Runs).detached_of(visit.who.caller))
    is_part = "live" in visit.query
    return visit.show_live(
        "live.html.j2",
        "parts/runs.html.j2",
        runs=runs,
        now=time.time(),
        stoppable=stoppable,
        most_calls=_MOST_CALLS,
        word_call=word_call,
        today=None if is_part else await _today(visit),
        servers=[] if is_part else visit.who.app.servers.status(),
    )


def _look(journal: Journal, principal: str) -> LiveRuns:
    recent = journal.recent(principal)[::-1]
    unfinished = [run for run in recent if not run.outcome][:_MOST_UNFINISHED]
    going_on = journal.going_on(unfinished)
    names = {run.id for run in going_on}
    ended = (run for run in recent if run.id not in names)
    return LiveRuns(going_on, list(islice(ended, _MOST_RECENT)))


async def _today(visit: Visit) -> Summary | None:
    try:
        return await anyio.to_thread.run_sync(visit.who.part(Statistics).summarize, "day")
    except StatsDisabledError:
        return None


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
        word_call=word_call,
        word_value=word_value,
    )


async def stop_run(visit: Visit) -> Response:
    await visit.form()
    name = visit.request.path_params["run"]
    await visit.who.app.executor.call("ot.stop", {"run": name}, caller=visit.who.caller)
    return visit.go_to(f"/runs/{name}?done=stopped")


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
_LEVELS = ("WARNING", "ERROR", "CRITICAL")


async def show_errors(visit: Visit) -> Response:
    """Show recent errors; the log of a team's server is for administrators."""
    incident = visit.query.get("incident", "")[:64]
    recent = await anyio.to_thread.run_sync(visit.who.part(Journal).recent, visit.who.person.principal)
    failed = [run for run in reversed(recent) if run.error][:_MOST_RUNS]
    entries: list[LogEntry] = []
    problem = ""
    if visit.who.sees_log:
        loaded = visit.who.part(LoadedConfig)
        file = loaded.config.log.file or kept_log(loaded.machine_home)
        try:
            entries = await anyio.to_thread.run_sync(read_recent, file, incident or None, _MOST_ENTRIES)
        except OSError as error:
            problem = f"{file} cannot be read: {error.strerror}"
    entries = [entry for entry in entries if entry.level in _LEVELS][::-1]
    return visit.show("errors.html.j2", failed=failed, entries=entries, incident=incident, problem=problem)
