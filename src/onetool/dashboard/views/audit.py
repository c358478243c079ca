"""Audit: the calls that had side effects, who made and who allowed them, and damage to the log.

Administrators see those of everyone too.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit, word_principal
from ot.audit.calls import AuditedCall, read_calls
from ot.audit.log import open_everybodys_audit
from ot.audit.reading import Finding, find_chains
from ot.config.loader import LoadedConfig
from ot.errors import ToolError
from ot.parts.stores import open_own_backend, open_own_store

_MOST = 300
_PAGE = 100
_LONGEST_CALL = 86_400.0  # seconds; one that began late in the day may have ended in a file of the next


async def show_audit(visit: Visit) -> Response:
    """Show the latest calls with side effects, of one tool, pack or pattern if it is named."""
    wanted = visit.query.get("tool", "").strip()[:200]
    loaded, patterns = visit.who.part(LoadedConfig), (wanted or "*", f"{wanted}.*")

    def read() -> tuple[list[AuditedCall], list[Finding]]:
        with open_own_store(loaded) as store, store.audit.copied() as folder:
            return read_calls(find_chains(folder))

    try:
        calls, findings = await anyio.to_thread.run_sync(read)
    except OSError as error:
        raise ToolError(f"the audit log cannot be read: {error.strerror}") from error
    chosen = [call for call in reversed(calls) if any(fnmatchcase(call.tool, pattern) for pattern in patterns)]
    return visit.show("audit.html.j2", calls=chosen[:_MOST], total=len(chosen), findings=findings, wanted=wanted)


async def show_team_audit(visit: Visit) -> Response:
    """Show the calls with side effects of a day, of one person if they are named, page by page."""
    if not visit.who.admin:
        return visit.show_no_page()
    day, person = datetime.now().astimezone().date(), visit.query.get("person", "").strip()[:300]
    with suppress(ValueError):
        day = min(max(date.fromisoformat(visit.query.get("day", "")), date(1971, 1, 1)), date(9000, 1, 1))
    calls, findings = await anyio.to_thread.run_sync(_read, visit.who.part(LoadedConfig), day, person)
    pages = max(1, -(-len(calls) // _PAGE))
    asked = visit.query.get("page", "")
    page = min(max(1, int(asked)), pages) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1
    return visit.show(
        "team_audit.html.j2",
        calls=[(word_principal(call.person), call) for call in calls[(page - 1) * _PAGE : page * _PAGE]],
        total=len(calls),
        findings=findings,
        day=day.isoformat(),
        wanted=person,
        page=page,
        pages=pages,
    )


def _read(loaded: LoadedConfig, day: date, person: str) -> tuple[list[AuditedCall], list[Finding]]:
    """Return the calls of a day in the time zone of the server, the newest first."""
    begin, end = (datetime.combine(each, time.min).astimezone(UTC) for each in (day, day + timedelta(days=1)))
    first, last = (each.isoformat(timespec="milliseconds") for each in (begin, end))  # as the log writes them
    since, until = begin.timestamp(), end.timestamp() + _LONGEST_CALL
    name = json.dumps(person.partition(" (")[0])[1:-1]  # as principals have it, of a person as the page shows them
    calls: list[AuditedCall] = []
    findings: list[Finding] = []
    try:
        with (
            open_own_backend(loaded) as backend,
            open_everybodys_audit(loaded, backend, since=since, until=until, person=name) as folders,
        ):
            for folder in folders:
                found, odd = read_calls(find_chains(folder))
                of_day = (each for each in found if first <= each.time < last)
                calls += [each for each in of_day if person.casefold() in word_principal(each.person).casefold()]
                findings += odd
    except OSError as error:
        raise ToolError(f"the audit log cannot be read: {error.strerror or error}") from error
    return sorted(calls, key=lambda call: call.time, reverse=True), findings
