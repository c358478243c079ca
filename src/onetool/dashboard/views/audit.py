"""Audit: the calls that had side effects, who made and who allowed them, and damage to the log.

Administrators see those of everyone too. Pages are read from where the one before ended.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import partial

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit, word_principal
from ot.audit.chain import FILE_NAME
from ot.audit.latest import LatestCalls, read_latest
from ot.audit.log import audits_of_everybody
from ot.config.loader import LoadedConfig
from ot.errors import ToolError
from ot.parts.person_overlay import PersonOverlay
from ot.parts.stores import store_of
from ot.store.newest_lines import LinePlace

_PAGE = 100  # calls
_PLACE = re.compile(r"(?P<moment>\d{1,11}\.\d{1,9}),(?P<file>[^,]+),(?P<place>\d{1,12})", re.ASCII)
_MOST_LINES = 5000  # that are read for a page, however few calls in them are looked for


async def show_audit(visit: Visit) -> Response:
    """Show calls with side effects, the latest first, of one tool, pack or pattern if it is named."""
    wanted = visit.query.get("tool", "").strip()[:200]
    log = store_of(visit.who.part(LoadedConfig), visit.who.part(PersonOverlay).backend).audit
    found = await _read(partial(read_latest, [log], before=_place_in(visit), tool=wanted))
    return visit.show(
        "audit.html.j2", calls=found.calls, findings=found.findings, wanted=wanted, **_pages(visit, found)
    )


async def show_team_audit(visit: Visit) -> Response:
    """Show the calls with side effects of a day, of one person if they are named."""
    if not visit.who.admin:
        return visit.show_no_page()
    day, person = datetime.now().astimezone().date(), visit.query.get("person", "").strip()[:300]
    with suppress(ValueError):
        day = min(max(date.fromisoformat(visit.query.get("day", "")), date(1971, 1, 1)), date(9000, 1, 1))
    since, until = (datetime.combine(each, time.min).timestamp() for each in (day, day + timedelta(days=1)))
    name = json.dumps(person.partition(" (")[0])[1:-1]  # as principals have it, of a person as the page shows them
    logs = audits_of_everybody(visit.who.part(LoadedConfig), visit.who.part(PersonOverlay).backend, person=name)

    def is_person(principal: str) -> bool:
        return person.casefold() in word_principal(principal).casefold()

    before = min(_place_in(visit) or (until, "", 0), (until, "", 0))
    found = await _read(partial(read_latest, logs, before=before, since=since, is_person=is_person if person else None))
    return visit.show(
        "team_audit.html.j2",
        calls=[(word_principal(call.person), call) for call in found.calls],
        findings=found.findings,
        day=day.isoformat(),
        wanted=person,
        **_pages(visit, found),
    )


async def _read(read: partial[LatestCalls]) -> LatestCalls:
    try:
        return await anyio.to_thread.run_sync(partial(read, most=_PAGE, most_lines=_MOST_LINES))
    except OSError as error:
        raise ToolError(f"the audit log cannot be read: {error.strerror or error}") from error


def _place_in(visit: Visit) -> LinePlace | None:
    """Return the place before which a page begins; None for the first page, and where there is no such place."""
    found = _PLACE.fullmatch(visit.query.get("before", ""))
    if found is None or not FILE_NAME.fullmatch(found["file"]):
        return None
    return float(found["moment"]), found["file"], int(found["place"])


def _pages(visit: Visit, found: LatestCalls) -> dict[str, object]:
    older = "" if found.older is None else ",".join(map(str, found.older))
    return {"older": older, "first": "before" not in visit.query}
