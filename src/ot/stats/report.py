"""The report: one HTML page that needs nothing else, with everything that came from outside escaped."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import jinja2

from mcp_core.distribution import VERSION
from ot.stats.charts import Bar, draw_bars, draw_columns, pick_labels, pick_top
from ot.stats.figures import Moment, Savings, Summary, ToolFigures
from ot.stats.report_file import MARK
from ot.stats.wording import compact, duration, percent, precise, size

TEMPLATES = Path(__file__).parent
"""The folder of the report's templates: `figures.html.j2` is its middle, for other pages too."""

_MOST_SLOW = 8
_HOUR, _DAY = 3600, 86400
_PERIODS = {"day": "the last 24 hours", "week": "the last 7 days", "month": "the last 30 days", "all": "all time"}


def render_report(summary: Summary) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {word.__name__: word for word in (compact, duration, percent, precise, size)}
    page = environment.get_template("report.html.j2")
    return MARK + page.render(
        draw(summary),
        period=_PERIODS[summary.period],
        since=None if summary.since is None else _local(summary.since).strftime("%-d %B %Y, %H:%M"),
        made=datetime.now().astimezone().strftime("%-d %B %Y, %H:%M %Z"),
        version=VERSION,
        nonce=secrets.token_urlsafe(16),
    )


def draw(summary: Summary) -> dict[str, object]:
    """Draw the figures: everything that `figures.html.j2` shows."""
    busiest = max((moment.calls for moment in summary.moments), default=0)
    top = pick_top(busiest)
    return {
        "summary": summary,
        "columns": draw_columns([(moment.calls - moment.errors, moment.errors) for moment in summary.moments], top=top),
        "column_titles": [_word_moment(moment, summary.bucket_seconds) for moment in summary.moments],
        "column_labels": pick_labels([_label(moment, summary.bucket_seconds) for moment in summary.moments]),
        "busiest": busiest,
        "top": top,
        "bucket": {_HOUR: "hour", _DAY: "day"}.get(summary.bucket_seconds, "week"),
        "slow": _draw_slowest(summary.tools),
        "ways": _draw_ways(summary.savings),
        "errors": draw_bars([(kind, count) for kind, count in summary.errors]),
        "clients": draw_bars([(client.client or "command line", client.runs) for client in summary.clients]),
    }


def _draw_slowest(tools: Sequence[ToolFigures]) -> list[Bar]:
    slowest = sorted(tools, key=lambda tool: -tool.p95_ms)[:_MOST_SLOW]
    return draw_bars([(tool.tool, tool.p95_ms) for tool in slowest])


def _draw_ways(savings: Savings) -> list[tuple[str, int, list[Bar]]]:
    """The two ways beside each other, on one scale, each in its parts."""
    ways = [
        (
            "Connected directly",
            savings.direct,
            [
                ("definitions", savings.direct_definitions),
                ("call messages", savings.direct_calls),
                ("results", savings.direct_results),
            ],
        ),
        (
            "Through OneTool",
            savings.sent,
            [
                ("definition of run", savings.sent_definition),
                ("commands", savings.sent_commands),
                ("answers", savings.sent_answers),
            ],
        ),
    ]
    most = max(savings.direct, savings.sent)
    return [(name, total, draw_bars(parts, most=most, stacked=True)) for name, total, parts in ways]


def _label(moment: Moment, bucket: int) -> str:
    return _local(moment.start).strftime("%H:%M" if bucket == _HOUR else "%-d %b")


def _word_moment(moment: Moment, bucket: int) -> str:
    when = _local(moment.start).strftime("%a %-d %b, %H:%M" if bucket == _HOUR else "%a %-d %b %Y")
    failed = f", {moment.errors} failed" if moment.errors else ""
    start = "Week of " if bucket > _DAY else ""
    return f"{start}{when}: {moment.calls} call{'' if moment.calls == 1 else 's'}{failed}"


def _local(moment: float) -> datetime:
    return datetime.fromtimestamp(moment).astimezone()
