"""The report: one HTML page that needs nothing else, with everything that came from outside escaped.

A model names the path, so nothing of a person's may be lost by it: only inside the allowed folders, only a name that
ends in .html, and never over a file that is not a report.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import jinja2

from mcp_core.distribution import VERSION
from ot.errors import PathError, ReportWriteError
from ot.files.allowed_files import AllowedFiles, open_here
from ot.stats.figures import Moment, Savings, Summary
from ot.stats.wording import compact, duration, percent, precise, size
from ot_system.opening import READ_FILE

_MOST_LABELS = 7
_GAP = 0.22  # of the width of a column
_THINNEST = 0.8  # percent; one call beside a thousand is still seen
MARK = "<!doctype html>\n<!-- OneTool report -->\n"

TEMPLATES = Path(__file__).parent
"""The folder of the report's templates: `figures.html.j2` is its middle, for other pages too."""

_HOUR, _DAY = 3600, 86400
_PERIODS = {"day": "the last 24 hours", "week": "the last 7 days", "month": "the last 30 days", "all": "all time"}


class Bar(NamedTuple):
    name: str
    value: float
    start: float
    length: float


class Column(NamedTuple):
    """A column of two parts, from the bottom: what went well, and what did not."""

    start: float
    width: float
    good: float
    bad: float


def draw_bars(rows: Sequence[tuple[str, float]], *, most: float | None = None, stacked: bool = False) -> list[Bar]:
    """Bars on one scale; stacked, each begins where the one before it ends."""
    scale = 100 / (most or max((value for _, value in rows), default=0) or 1)
    bars: list[Bar] = []
    start = 0.0
    for name, value in rows:
        length = value * scale if stacked else max(value * scale, _THINNEST)
        bars.append(Bar(name, value, round(start, 3), round(length, 3)))
        start += length if stacked else 0.0
    return bars


def pick_top(most: int) -> int:
    """Return the end of the scale of columns: a number that can be halved."""
    return max(most + most % 2, 2)


def draw_columns(counts: Sequence[tuple[int, int]], *, top: int) -> list[Column]:
    """Columns beside each other, on a scale that ends at `top`."""

    def height(count: int) -> float:
        return round(max(100 * count / top, _THINNEST), 3) if count else 0.0

    step = 100 / (len(counts) or 1)
    width, indent = round(step * (1 - _GAP), 3), step * _GAP / 2
    return [
        Column(round(place * step + indent, 3), width, height(good), height(bad))
        for place, (good, bad) in enumerate(counts)
    ]


def pick_labels(labels: Sequence[str]) -> list[str]:
    """Choose as many labels as can be read side by side, evenly spread."""
    if len(labels) <= _MOST_LABELS:
        return list(labels)
    step = (len(labels) - 1) / (_MOST_LABELS - 1)
    return [labels[round(place * step)] for place in range(_MOST_LABELS)]


def write_report(output: str, render: Callable[[], str], *, files: AllowedFiles) -> Path:
    """Write what `render` gives to an allowed file. Raises ReportWriteError, for a path before it is rendered."""
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise ReportWriteError(output, "the name of a report must end in .html")
    try:
        with files.reach(output, write=True, follow=False) as reached, open_here(reached.folder) as folder:
            _refuse_other_files(folder, reached.name, output)
            with files.replace_reached(reached, output) as file:
                file.write(render().encode("utf-8", "replace"))
            return reached.place
    except PathError as error:
        raise ReportWriteError(output, error.reason) from error
    except OSError as error:
        raise ReportWriteError(output, error.strerror or str(error)) from error


def _refuse_other_files(descriptor: int, name: str, output: str) -> None:
    try:
        existing = os.open(name, READ_FILE, dir_fd=descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ReportWriteError(output, "a symbolic link has this name") from error
        raise
    with os.fdopen(existing, "rb") as file:
        if file.read(len(MARK)) != MARK.encode():
            raise ReportWriteError(output, "another file has this name, and it is not a report of OneTool")


def render_report(summary: Summary) -> str:
    loader, undefined = jinja2.FileSystemLoader(TEMPLATES), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=undefined, trim_blocks=True, lstrip_blocks=True
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
    slowest = sorted(summary.tools, key=lambda tool: -tool.p95_ms)[:8]
    return {
        "summary": summary,
        "columns": draw_columns([(moment.calls - moment.errors, moment.errors) for moment in summary.moments], top=top),
        "column_titles": [_word_moment(moment, summary.bucket_seconds) for moment in summary.moments],
        "column_labels": pick_labels([_label(moment, summary.bucket_seconds) for moment in summary.moments]),
        "busiest": busiest,
        "top": top,
        "bucket": {_HOUR: "hour", _DAY: "day"}.get(summary.bucket_seconds, "week"),
        "slow": draw_bars([(tool.tool, tool.p95_ms) for tool in slowest]),
        "ways": _draw_ways(summary.savings),
        "errors": draw_bars([(kind, count) for kind, count in summary.errors]),
        "clients": draw_bars([(client.client or "command line", client.runs) for client in summary.clients]),
    }


def _draw_ways(savings: Savings) -> list[tuple[str, int, list[Bar]]]:
    """The two ways beside each other, on one scale, each in its parts."""
    direct = savings.direct_definitions, savings.direct_calls, savings.direct_results
    sent = savings.sent_definition, savings.sent_commands, savings.sent_answers
    ways = [
        ("Connected directly", savings.direct, zip(("definitions", "call messages", "results"), direct, strict=True)),
        ("Through OneTool", savings.sent, zip(("definition of run", "commands", "answers"), sent, strict=True)),
    ]
    most = max(savings.direct, savings.sent)
    return [(name, total, draw_bars(list(parts), most=most, stacked=True)) for name, total, parts in ways]


def _label(moment: Moment, bucket: int) -> str:
    return _local(moment.start).strftime("%H:%M" if bucket == _HOUR else "%-d %b")


def _word_moment(moment: Moment, bucket: int) -> str:
    when = _local(moment.start).strftime("%a %-d %b, %H:%M" if bucket == _HOUR else "%a %-d %b %Y")
    failed = f", {moment.errors} failed" if moment.errors else ""
    start = "Week of " if bucket > _DAY else ""
    return f"{start}{when}: {moment.calls} call{'' if moment.calls == 1 else 's'}{failed}"


def _local(moment: float) -> datetime:
    return datetime.fromtimestamp(moment).astimezone()
