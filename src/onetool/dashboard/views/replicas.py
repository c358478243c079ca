"""Replicas, for administrators: how each of them is, what goes on in the team, and its last hour and day."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.responses import Response

from mcp_core.quick_dataclass import replace
from onetool.dashboard.visit import Visit, word_principal
from onetool.replicas.team_state import DAY, HOUR, Point, figure, runs_of
from ot.run.runs import Runs
from ot.stats.wording import duration, size

_PERIODS = {"hour": ("Last hour", HOUR), "day": ("Last day", DAY)}
_WIDTH, _HEIGHT = 300.0, 80.0
_MOST_SHOWN = 200


class Line(NamedTuple):
    name: str
    kind: str  # the class of its colour
    points: str  # of an SVG polyline
    last: str


class Graph(NamedTuple):
    title: str
    top: str  # the highest value, in words
    lines: list[Line]


def draw_graph(title: str, word: Callable[[float], str], **lines: Sequence[float]) -> Graph:
    """Draw lines over the same span of time; the first one in the first colour."""
    top = max((value for values in lines.values() for value in values), default=0.0)
    drawn = [
        Line(name, kind, _points(values, top), word(values[-1] if values else 0.0))
        for (name, values), kind in zip(lines.items(), ("line-a", "line-b"), strict=False)
    ]
    return Graph(title, word(top), drawn)


def _points(values: Sequence[float], top: float) -> str:
    step = _WIDTH / max(1, len(values) - 1)
    return " ".join(
        f"{at * step:.1f},{_HEIGHT - (value / top if top else 0.0) * _HEIGHT:.1f}" for at, value in enumerate(values)
    )


def _draw(points: Sequence[Point]) -> list[Graph]:
    def count(value: float) -> str:
        return f"{value:,.0f}"

    def seconds(value: float) -> str:
        return duration(value * 1000)

    return [
        draw_graph("Runs", count, runs=[each.runs for each in points], failed=[each.errors for each in points]),
        draw_graph("Duration of runs", seconds, p50=[each.p50 for each in points], p99=[each.p99 for each in points]),
        draw_graph("Refused by limits", count, refused=[each.refused for each in points]),
        draw_graph("Slowest write to the store", duration, write=[each.store_ms for each in points]),
        draw_graph("Memory of all replicas", size, memory=[each.memory for each in points]),
    ]


async def show_replicas(visit: Visit) -> Response:
    """Show them to administrators; for others there is no such page."""
    if not visit.who.admin:
        return visit.show_no_page()
    chosen = visit.query.get("period", "hour")
    chosen = chosen if chosen in _PERIODS else "hour"
    wanted = visit.query.get("search", "").strip()[:200]
    seen = await visit.team.seen()
    runs = runs_of(seen, wanted)
    return visit.show_live(
        "replicas.html.j2",
        "parts/replicas.html.j2",
        seen=seen,
        figure=figure,
        now=time.time(),
        runs=[(word_principal(run.principal), run) for run in runs[:_MOST_SHOWN]],
        total=len(runs),
        wanted=wanted,
        chosen=chosen,
        periods=[(name, label) for name, (label, _) in _PERIODS.items()],
        graphs=_draw(await visit.team.points(_PERIODS[chosen][1])),
    )


async def stop_anybodys_run(visit: Visit) -> Response:
    """End a run of anybody that goes on alone, at whichever replica."""
    form = await visit.form()
    if not visit.who.admin:
        return visit.show_no_page()
    caller = replace(visit.who.caller, principal=form.get("principal", ""))
    here = next((app.runs for who, app in visit.everybody() if who == caller.principal), None)
    await (here or visit.who.part(Runs)).stop(visit.request.path_params["run"], caller=caller)
    return visit.go_to("/replicas?done=stopped")
