"""Statistics, drawn as in the report; and for administrators the people: their engines, and everyone's usage."""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.short_cache import ShortCache
from onetool.dashboard.visit import Visit, word_principal
from ot.config.loader import LoadedConfig
from ot.errors import ToolError
from ot.parts.person_overlay import PersonOverlay
from ot.stats.figures import Summary, by_pack, by_person
from ot.stats.report import draw
from ot.stats.scope import PERIODS
from ot.stats.statistics import Statistics, sum_everybody

NAMES = {"day": "24 hours", "week": "7 days", "month": "30 days", "all": "All time"}


_summaries: ShortCache[Summary] = ShortCache()


async def show_statistics(visit: Visit) -> Response:
    period = read_period(visit)
    tool = visit.query.get("tool", "").strip()[:200]
    summary = await summarize(visit, period, tool)
    periods = [(name, NAMES[name]) for name in PERIODS]
    return visit.show("statistics.html.j2", chosen=period, tool=tool, periods=periods, **draw(summary))


async def summarize(visit: Visit, period: str, tool: str = "") -> Summary:
    """Return the figures of a person, which may be some seconds old where there are very many calls."""
    statistics = visit.who.part(Statistics)
    return await _summaries.get((statistics, period, tool), partial(statistics.summarize, period, tool))


def read_period(visit: Visit) -> str:
    period = visit.query.get("period", "week")
    return period if period in PERIODS else "week"


class _Part(NamedTuple):
    """A server or worker of a person, and why it does not work, if so."""

    kind: str
    name: str
    state: str
    error: str


async def list_people(visit: Visit) -> Response:
    """List them for administrators; for others there is no such page."""
    if not visit.who.admin:
        return visit.show_no_page()
    people, holders = [], dict[tuple[str, str], list[tuple[str, _Part]]]()
    elsewhere = await _find_elsewhere(visit)
    for principal, app in visit.everybody():
        name, clean = word_principal(principal), app.executor.redactor.text
        parts = [_Part("server", each.name, each.state, clean(each.error)) for each in app.servers.status()]
        workers = app.workers.status()
        parts += [_Part("extension", each.pack, each.state, clean(each.last_error or "")) for each in workers]
        runs, places = elsewhere.pop(principal, (0, []))
        people.append((name, app.runs.count + runs, parts, [visit.team.name, *places]))
        for part in parts:
            holders.setdefault((part.kind, part.name), []).append((name, part))
    people += [(word_principal(who), runs, [], places) for who, (runs, places) in sorted(elsewhere.items())]
    ordered = sorted(holders.items(), key=lambda each: each[0])
    return visit.show_live("people.html.j2", "parts/people.html.j2", people=people, holders=ordered)


async def _find_elsewhere(visit: Visit) -> dict[str, tuple[int, list[str]]]:
    """Return whose engines are open at other replicas, with their runs there."""
    found: dict[str, tuple[int, list[str]]] = {}
    for replica in await visit.team.seen():
        told = replica.status.get("people") if replica.alive and replica.name != visit.team.name else None
        for each in told if isinstance(told, list) else []:
            match each:
                case {"principal": str(principal), "runs": int(runs)}:
                    before, places = found.get(principal, (0, []))
                    found[principal] = before + runs, [*places, replica.name]
    return found


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
