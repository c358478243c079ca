"""Statistics: calls, outcomes and savings, drawn as in the report."""

from __future__ import annotations

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.stats.report import draw
from ot.stats.scope import PERIODS
from ot.stats.statistics import Statistics

NAMES = {"day": "24 hours", "week": "7 days", "month": "30 days", "all": "All time"}


async def show_statistics(visit: Visit) -> Response:
    """Show the statistics of a period, of one tool or pack if it is named."""
    period = read_period(visit)
    tool = visit.query.get("tool", "").strip()[:200]
    summary = await anyio.to_thread.run_sync(visit.who.part(Statistics).summarize, period, tool)
    periods = [(name, NAMES[name]) for name in PERIODS]
    return visit.show("statistics.html.j2", chosen=period, tool=tool, periods=periods, **draw(summary))


def read_period(visit: Visit) -> str:
    period = visit.query.get("period", "week")
    return period if period in PERIODS else "week"
