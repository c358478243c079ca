"""Rows of statistics in PostgreSQL, for all principals."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from ot.errors import ToolError
from ot.store.embedded_statistics import open_copy
from ot.store.parts import CallSum, Row, RunSum, StatBatch, TeamSums
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink

_TABLES = {
    "stat_runs": (
        "id, server, client, ended, seconds, error, command_bytes, command_kind, answer_bytes, answer_kind, attachments"
    ),
    "stat_calls": "run, depth, tool, ended, seconds, error, sent, sent_kind, received, received_kind",
    "stat_models": "provider, model, ended, input_tokens, output_tokens, cost, seconds",
}
_SUM_RUNS = """
SELECT principal, count(*), count(*) FILTER (WHERE error <> '') FROM stat_runs WHERE ended >= $1 GROUP BY principal
"""
_SUM_CALLS = """
SELECT principal, split_part(tool, '.', 1) AS pack, count(*), count(*) FILTER (WHERE error <> ''), sum(seconds)
FROM stat_calls WHERE ended >= $1 GROUP BY principal, pack
"""
_LONGEST_RUN = 86400.0  # seconds: calls of a run that has ended since then may have ended before


class PostgresStatRows:
    """The rows of one principal. Blocking."""

    def __init__(self, link: PostgresLink, principal: str) -> None:
        self.place = link.place
        self._link = link
        self._principal = principal

    def add(self, batch: StatBatch) -> None:
        calls = [row[1:] for row in batch.calls]  # without the numbers that SQLite gives
        models = [row[1:] for row in batch.models]

        async def add(connection: Connection) -> None:
            async with connection.transaction():
                for (table, columns), rows in zip(_TABLES.items(), (batch.runs, calls, models), strict=True):
                    places = ", ".join(f"${number}" for number in range(1, columns.count(",") + 3))
                    statement = f"INSERT INTO {table} (principal, {columns}) VALUES ({places}) ON CONFLICT DO NOTHING"
                    if rows:
                        owned = [(self._principal, *map(_storable, row)) for row in rows]
                        await connection.executemany(statement, owned)

        self._link.run_now(add)

    def prune(self, before: float) -> None:
        for table in _TABLES:
            self._link.fetch_now(f"DELETE FROM {table} WHERE principal = $1 AND ended < $2", self._principal, before)

    @contextmanager
    def look(self, since: float) -> Iterator[sqlite3.Connection]:
        """Give the rows since a moment, as they are at one moment; raises ToolError."""

        async def read(connection: Connection) -> list[list[Row]]:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                found = []
                for table, columns in _TABLES.items():
                    first = since - _LONGEST_RUN if table == "stat_calls" else since
                    statement = f"SELECT {columns} FROM {table} WHERE principal = $1 AND ended >= $2"
                    rows = await connection.fetch(statement, self._principal, first)
                    found.append([tuple(row.values()) for row in rows])
                return found

        try:
            runs, calls, models = self._link.run_now(read)
        except OSError as error:
            raise ToolError(f"the statistics cannot be read: {error.strerror or error}") from error
        found = StatBatch(runs, [(None, *row) for row in calls], [(None, *row) for row in models])
        with open_copy(found) as connection:
            yield connection

    def close(self) -> None:
        """Do nothing: the link is closed by its owner."""


def sum_everybody(link: PostgresLink, since: float) -> TeamSums:
    """Add up what everybody has used since a moment. Blocking."""
    runs, calls = link.fetch_now(_SUM_RUNS, since), link.fetch_now(_SUM_CALLS, since)
    return TeamSums([RunSum(*row) for row in runs], [CallSum(*row) for row in calls])


def _storable(value: object) -> object:
    """Return a value that the database takes: others choose names, and text there has no NUL."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
