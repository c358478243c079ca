"""The database of statistics: its schema, and a look at it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ot.errors import ToolError
from ot.store.databases import Migrations, open_database, worded
from ot.store.stat_rows import StatBatch, StatRows

# Each entry takes a database from one version to the next; entries are only ever added.
MIGRATIONS: Migrations = (
    (
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, server INTEGER NOT NULL, client TEXT NOT NULL, ended REAL NOT NULL,
            seconds REAL NOT NULL, error TEXT NOT NULL, command_bytes INTEGER NOT NULL, command_kind TEXT NOT NULL,
            answer_bytes INTEGER NOT NULL, answer_kind TEXT NOT NULL, attachments INTEGER NOT NULL
        )""",
        """CREATE TABLE calls (
            id INTEGER PRIMARY KEY, run INTEGER NOT NULL, depth INTEGER NOT NULL, tool TEXT NOT NULL,
            ended REAL NOT NULL, seconds REAL NOT NULL, error TEXT NOT NULL, sent INTEGER NOT NULL,
            sent_kind TEXT NOT NULL, received INTEGER NOT NULL, received_kind TEXT NOT NULL
        )""",
        "CREATE INDEX runs_by_time ON runs (ended)",
        "CREATE INDEX calls_by_time ON calls (ended)",
        "CREATE INDEX calls_by_run ON calls (run)",
    ),
    (
        """CREATE TABLE models (
            id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, ended REAL NOT NULL,
            input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost REAL, seconds REAL NOT NULL
        )""",
        "CREATE INDEX models_by_time ON models (ended)",
    ),
)


@contextmanager
def open_for_reading(file: Path) -> Iterator[sqlite3.Connection]:
    """The database as it is at one moment; raises DatabaseUnavailableError.

    A reader makes and migrates it too, so that what is read has one form.
    """
    with worded(file), closing(open_database(file, MIGRATIONS)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        yield connection


@contextmanager
def open_copy(rows: StatRows, since: float) -> Iterator[sqlite3.Connection]:
    """Give the rows of a shared store since a moment as such a database; raises ToolError.

    One person's rows are few enough, and all figures are worked out in one way.
    """
    try:
        found = rows.read(since)
    except OSError as error:
        raise ToolError(f"the statistics cannot be read: {error.strerror or error}") from error
    with closing(sqlite3.connect(":memory:")) as connection:
        for steps in MIGRATIONS:
            for step in steps:
                connection.execute(step)
        insert(connection, found)
        yield connection


def insert(connection: sqlite3.Connection, rows: StatBatch) -> None:
    """Add the rows; a number that two servers drew by chance must not lose the whole batch."""
    connection.executemany(f"INSERT OR IGNORE INTO runs VALUES ({', '.join('?' * 11)})", rows.runs)
    connection.executemany(f"INSERT INTO calls VALUES ({', '.join('?' * 11)})", rows.calls)
    connection.executemany(f"INSERT INTO models VALUES ({', '.join('?' * 8)})", rows.models)
