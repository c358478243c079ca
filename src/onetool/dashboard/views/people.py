"""People: whose engines are open on this server, their state, and everyone's usage; none of their data."""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.views.statistics import NAMES, read_period
from onetool.dashboard.visit import Visit, word_principal
from ot.app import App
from ot.config.loader import LoadedConfig
from ot.errors import ToolError
from ot.parts.person_overlay import PersonOverlay
from ot.stats.figures import by_pack, by_person
from ot.stats.scope import PERIODS
from ot.stats.statistics import sum_everybody


@dataclass(frozen=True, slots=True)
class _Part:
    """A server or worker of a person, and why it does not work, if so."""

    kind: str
    name: str
    state: str
    error: str


async def list_people(visit: Visit) -> Response:
    """List them for administrators; for others there is no such page."""
    if not visit.who.admin:
        return visit.show_no_page()
    people = [(word_principal(name), app.runs.count, _parts_of(app)) for name, app in visit.everybody()]
    holders: dict[tuple[str, str], list[tuple[str, _Part]]] = {}
    for name, _, parts in people:
        for part in parts:
            holders.setdefault((part.kind, part.name), []).append((name, part))
    return visit.show_live(
        "people.html.j2",
        "parts/people.html.j2",
        people=people,
        holders=sorted(holders.items(), key=lambda each: each[0]),
    )


async def show_team_statistics(visit: Visit) -> Response:
    if not visit.who.admin:
        return visit.show_no_page()
    period = read_period(visit)
    length, known = PERIODS[period], [name for name, _ in visit.everybody()]
    since = time.time() - length if length else 0.0
    try:
        loaded, backend = visit.who.part(LoadedConfig), visit.who.part(PersonOverlay).backend
        sums = await anyio.to_thread.run_sync(sum_everybody, loaded, backend, known, since)
    except OSError as error:
        raise ToolError(f"the statistics cannot be read: {error.strerror or error}") from error
    return visit.show(
        "team_statistics.html.j2",
        people=[(word_principal(each.person), each) for each in by_person(sums)],
        packs=by_pack(sums),
        chosen=period,
        periods=[(name, NAMES[name]) for name in PERIODS],
    )


def _parts_of(app: App) -> list[_Part]:
    clean = app.executor.redactor.text
    servers = [_Part("server", each.name, each.state, clean(each.error)) for each in app.servers.status()]
    workers = [_Part("extension", each.pack, each.state, clean(each.last_error or "")) for each in app.workers.status()]
    return servers + workers
