"""Errors: failed runs, and the warnings and errors in the log."""

from __future__ import annotations

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from onetool.log_entries import LogEntry, read_recent
from ot.config.loader import LoadedConfig
from ot.config.paths import kept_log
from ot.journal.journal import Journal

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
