"""From rows to figures: one look at the database, all of it within one transaction."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from ot.registry.registry import ToolRegistry
from ot.stats.figures import ClientFigures, ModelFigures, Moment, Summary, ToolFigures
from ot.stats.savings import measure_offer, measure_savings, measure_time
from ot.stats.scope import PERIODS, Scope

HOUR, DAY, WEEK = 3600, 86400, 7 * 86400
_MOST_BARS = 60
_QUARTER = 900  # seconds: in every time zone hours and days begin at one


def summarize(
    connection: sqlite3.Connection, *, period: str, tool: str, registry: ToolRegistry, own_definition: str
) -> Summary:
    """Everything about a period, one of PERIODS, and about one tool or pack if it is named."""
    length = PERIODS[period]
    scope = Scope(connection, time.time() - length if length else 0.0, tool)
    savings, dearer = measure_savings(scope, registry=registry, own_definition=own_definition)
    runs, failed, since = scope.select(
        f"SELECT COUNT(*), TOTAL(error <> ''), MIN(ended - seconds) FROM runs WHERE {scope.runs}"
    ).fetchone()
    [first_call] = scope.select(f"SELECT MIN(ended) FROM calls WHERE {scope.calls}").fetchone()
    errors = scope.select(f"""
        SELECT error, COUNT(*) FROM calls WHERE {scope.calls} AND error <> ''
        GROUP BY error ORDER BY COUNT(*) DESC, error LIMIT 12
    """)
    moments, bucket = _read_moments(scope, length)
    return Summary(
        period=period,
        tool=tool,
        since=min((moment for moment in (since, first_call) if moment is not None), default=None),
        runs=runs,
        failed_runs=int(failed),
        dearer_runs=dearer,
        tools=_read_tools(scope),
        clients=_read_clients(scope),
        models=_read_models(scope),
        errors=tuple(errors),
        moments=moments,
        bucket_seconds=bucket,
        savings=savings,
        offered=measure_offer(registry, own_definition),
        time=measure_time(scope),
    )


def _read_tools(scope: Scope) -> tuple[ToolFigures, ...]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for tool, took in scope.select(f"SELECT tool, seconds FROM calls WHERE {scope.calls}"):
        seconds[tool].append(took)
    rows = scope.select(f"""
        SELECT tool, COUNT(*), SUM(error <> ''), ROUND(AVG(seconds) * 1000, 3), ROUND(MAX(seconds) * 1000, 3),
            SUM(sent), SUM(received)
        FROM calls WHERE {scope.calls} GROUP BY tool ORDER BY COUNT(*) DESC, tool
    """)
    # SQLite ranks all rows of a table in five times the time.
    return tuple(
        ToolFigures(tool, calls, errors, mean, _p95_ms(seconds[tool]), longest, sent, received)
        for tool, calls, errors, mean, longest, sent, received in rows
    )


def _p95_ms(seconds: list[float]) -> float:
    """Return the shortest time, in milliseconds, that 95 of 100 do not exceed."""
    return round(sorted(seconds)[(len(seconds) * 95 + 99) // 100 - 1] * 1000, 3)


def _read_clients(scope: Scope) -> tuple[ClientFigures, ...]:
    rows = scope.select(f"""
        WITH made AS (SELECT run, COUNT(*) AS n FROM calls WHERE {scope.calls} GROUP BY run)
        SELECT client, COUNT(*), SUM(error <> ''), COALESCE(SUM(n), 0) FROM runs LEFT JOIN made ON made.run = runs.id
        WHERE {scope.runs} GROUP BY client ORDER BY COUNT(*) DESC, client
    """)
    return tuple(ClientFigures(*row) for row in rows)


def _read_models(scope: Scope) -> tuple[ModelFigures, ...]:
    """Models are asked by conversations, not by tools: a question about one tool has none."""
    if scope.tool:
        return ()
    rows = scope.select("""
        SELECT provider, model, COUNT(*), SUM(input_tokens), SUM(output_tokens),
            CASE WHEN COUNT(cost) = COUNT(*) THEN ROUND(SUM(cost), 6) END, ROUND(AVG(seconds) * 1000, 3) FROM models
        WHERE ended >= :since GROUP BY provider, model ORDER BY COUNT(*) DESC, provider, model
    """)
    return tuple(ModelFigures(*row) for row in rows)


def _read_moments(scope: Scope, length: float) -> tuple[tuple[Moment, ...], int]:
    """Calls by the hour, day or week of this machine's time zone, whichever makes a readable row of bars."""
    rows: Sequence[tuple[int, int, int]] = scope.select(f"""
        SELECT CAST(ended / {_QUARTER} AS INTEGER) * {_QUARTER}, COUNT(*), SUM(error <> '')
        FROM calls WHERE {scope.calls} GROUP BY 1 ORDER BY 1
    """).fetchall()
    now = time.time()
    first = now - length if length else (rows[0][0] if rows else now)
    bucket = next((size for size in (HOUR, DAY) if (now - first) / size <= _MOST_BARS), WEEK)
    counted: dict[float, list[int]] = {}
    start = _bucket_of(first, bucket)
    while start <= now:
        counted[start] = [0, 0]
        start = _bucket_of(start + bucket * 1.5, bucket)  # past a day that is an hour longer or shorter
    for moment, calls, errors in rows:
        found = counted.setdefault(_bucket_of(moment, bucket), [0, 0])
        found[0] += calls
        found[1] += errors
    return tuple(Moment(start, *counts) for start, counts in sorted(counted.items())), bucket


def _bucket_of(moment: float, bucket: int) -> float:
    """The start of the local hour, day or week in which a moment lies."""
    local = datetime.fromtimestamp(moment).astimezone()
    if bucket == HOUR:
        return local.replace(minute=0, second=0, microsecond=0).timestamp()
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if bucket == WEEK:
        day = datetime.fromordinal(day.toordinal() - day.weekday())
    return day.timestamp()
