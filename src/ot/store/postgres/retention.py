"""Removes what is too old in PostgreSQL, of all people: of those too who never come back.

Replicas take turns: whoever finds that it is time holds the one row of `retention` while it removes a batch, and says
when it is time again. All of them go by the clock of the database. Limits of size are kept by whoever writes.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import anyio
import asyncpg

from ot.logs import write_log
from ot.store import results
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink

PERIOD = 300.0  # seconds from one removal to the next
LOOKING = 60.0  # seconds after which each replica looks whether it is time
MOST_ROWS = 5000  # that a statement removes
MOST_LARGE = 500  # runs, files or results that it removes with all that belongs to them
DAY = 86400.0  # seconds
_MINUTE, _HOUR = 60.0, 3600.0

_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
_CLAIM = "SELECT true FROM retention WHERE due <= $1 FOR UPDATE SKIP LOCKED"
_BY_INDEX = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"  # each batch is a small part of a table
_REMOVE_ROWS = """
DELETE FROM {table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {table} WHERE {old} LIMIT {most} FOR UPDATE SKIP LOCKED
))
"""
_REMOVE_WHOLE = """
DELETE FROM {table} WHERE ({whole}) IN (
    SELECT {whole} FROM {table} AS part WHERE written < $1 AND {only} AND NOT EXISTS (
        SELECT FROM {beside} AS newer WHERE ({newer}) = ({part}) AND {still}
    ) LIMIT {most}
)
"""
_END_RESULTS = f"""
WITH ending AS MATERIALIZED (
    SELECT principal, handle FROM results WHERE expires < $1 AND NOT gone LIMIT {MOST_LARGE} FOR UPDATE SKIP LOCKED
), pieces AS (
    DELETE FROM result_pieces USING ending
    WHERE result_pieces.principal = ending.principal AND result_pieces.handle = ending.handle
)
UPDATE results SET gone = true, size = 0 FROM ending
WHERE results.principal = ending.principal AND results.handle = ending.handle
"""


class Terms(NamedTuple):
    """How long what is kept, in seconds."""

    journal: float
    statistics: float
    audit: float


class PostgresRetention:
    def __init__(self, link: PostgresLink, terms: Terms) -> None:
        self._link = link
        self._statements = _statements(terms)

    async def keep_to_it(self) -> None:
        """Remove what is too old whenever it is time, until this is cancelled."""
        while True:
            try:
                if removed := await self.remove_old():
                    write_log(logging.INFO, "store.retention", rows=removed)
            except OSError:  # the link says so in the log
                pass
            except asyncpg.PostgresError as error:
                write_log(logging.WARNING, "store.retention", error=str(error))
            await anyio.sleep(LOOKING)

    async def remove_old(self, now: float | None = None) -> int:
        """Remove what is too old, if it is time and no other replica does; return how many rows.

        `now` is a time in seconds to go by instead of the database's.
        """
        total = 0
        while (removed := await self._link.run(lambda connection: self._remove_batch(connection, now))) > 0:
            total += removed
        return total

    async def _remove_batch(self, connection: Connection, given: float | None) -> int:
        async with connection.transaction():
            now = await connection.fetchval(_NOW) if given is None else given
            if not await connection.fetchval(_CLAIM, now):
                return 0
            await connection.execute(_BY_INDEX)
            removed = 0
            for statement, age in self._statements:
                removed += int((await connection.execute(statement, now - age)).rpartition(" ")[2])
            if not removed:
                await connection.execute("UPDATE retention SET due = $1", now + PERIOD)
            return removed


def _statements(terms: Terms) -> list[tuple[str, float]]:
    """Return what removes rows older than $1, and how many seconds ago that is."""
    return [
        (_END_RESULTS, 0.0),
        _rows("results", "expires < $1 AND gone", results.REMEMBERED),
        _rows("kept_names", "expires < $1", results.REMEMBERED),
        (_remove_whole("journal_lines", "principal, project, run", only="event <> ''"), terms.journal),
        *(
            (_remove_whole(table, "principal, project, run", beside="journal_lines", still="true"), terms.journal)
            for table in ("journal_values", "undo_frames", "run_owners")
        ),
        (_remove_whole("audit_lines", "principal, file"), terms.audit),
        *(_rows(table, "ended < $1", terms.statistics) for table in ("stat_runs", "stat_calls", "stat_models")),
        _rows("quotas", "day < floor($1::float8 / 86400) AND minute < floor($1::float8 / 60)", DAY),
        _rows("calls_per_hour", "hour < floor($1::float8 / 3600)", _HOUR),
        _rows("run_leases", "until < to_timestamp($1)", _HOUR),
        # What is left of replicas that have been gone for long.
        _rows("replicas", "seen < to_timestamp($1)", _HOUR),
        _rows("replica_mail", "sent < to_timestamp($1)", 10 * _MINUTE),
        _rows("detached_runs", "began < to_timestamp($1)", DAY),
        _rows("client_memories", "seen < to_timestamp($1)", _HOUR),
        _rows("writers", "until < to_timestamp($1)", DAY),
        _rows("replica_samples", "minute < $1::float8 / 60", 25 * _HOUR),
    ]


def _rows(table: str, old: str, age: float) -> tuple[str, float]:
    return _REMOVE_ROWS.format(table=table, old=old, most=MOST_ROWS), age


def _remove_whole(
    table: str, whole: str, *, only: str = "true", beside: str = "", still: str = "newer.written >= $1"
) -> str:
    """Word the removal of whole runs or files of a table, of which no row beside them is newer."""
    newer, part = (", ".join(f"{name}.{column}" for column in whole.split(", ")) for name in ("newer", "part"))
    return _REMOVE_WHOLE.format(
        table=table,
        whole=whole,
        only=only,
        beside=beside or table,
        newer=newer,
        part=part,
        still=still,
        most=MOST_LARGE,
    )
