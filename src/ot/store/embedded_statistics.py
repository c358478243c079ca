"""Statistics in a SQLite database of this machine: its schema, rows, and sums over the databases of many people."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ot.store.databases import Migrations, means_damage, open_database, set_aside, transaction, worded
from ot.store.parts import CallSum, RunSum, StatBatch, TeamSums

MOST_ROWS = 1_000_000  # of a table
_PRUNE_CHUNK = 10_000  # rows of one transaction
_CACHE = 256  # KiB of pages; SQLite would keep 2 MB that a server which only adds rows never reads again
_TABLES = ("calls", "runs", "models")

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

_INDEX = "CREATE INDEX"
_SUM_RUNS = "SELECT ?, count(*), count(*) FILTER (WHERE error <> '') FROM runs WHERE ended >= ?"
_SUM_CALLS = """
SELECT ?, substr(tool, 1, instr(tool || '.', '.') - 1) AS pack,
    count(*), count(*) FILTER (WHERE error <> ''), sum(seconds)
FROM calls WHERE ended >= ? GROUP BY pack
"""


class EmbeddedStatRows:
    """The rows of a file, one transaction for each batch. Rows are not added by several threads at once."""

    def __init__(self, file: Path, *, patience: float | None = None) -> None:
        """`patience` are seconds to wait for other servers; None: as long as is usual."""
        self.place = str(file)
        self._file = file
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def add(self, batch: StatBatch) -> None:
        """Add rows: all of them, or none; a damaged file is set aside."""
        with worded(self._file):
            try:
                self._add(batch)
            except sqlite3.DatabaseError as error:
                if not means_damage(error):
                    raise
                self.close()
                set_aside(self._file)
                self._add(batch)

    def _add(self, batch: StatBatch) -> None:
        with transaction(connection := self._connect()):
            _insert(connection, batch)

    def prune(self, before: float, *, most_rows: int = MOST_ROWS) -> None:
        """Delete what is too old, and what is too much, a piece at a time, so that others can write in between.

        All tables lose the same stretch of time: a run without its calls would tell a wrong story.
        """
        with worded(self._file):
            connection = self._connect()
            for table in _TABLES:
                newest = f"SELECT ended FROM {table} ORDER BY ended DESC LIMIT 1 OFFSET ?"
                for (last,) in connection.execute(newest, (most_rows,)):
                    before = max(before, last)
            for table in _TABLES:
                chunk = f"SELECT id FROM {table} WHERE ended <= ? LIMIT {_PRUNE_CHUNK}"
                statement = f"DELETE FROM {table} WHERE id IN ({chunk})"
                while connection.execute(statement, (before,)).rowcount == _PRUNE_CHUNK:
                    pass

    @contextmanager
    def look(self, since: float) -> Iterator[sqlite3.Connection]:
        """Give the whole database as it is at one moment; raises DatabaseUnavailableError.

        A reader makes and migrates it too, so that what is read has one form.
        """
        with worded(self._file), closing(open_database(self._file, MIGRATIONS)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection

    def close(self) -> None:
        """Let go of the file; the next batch opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> sqlite3.Connection:
        """The database of this name: another server may have set aside, or a person removed, the one that is open."""
        if self._connection is not None and self._identity == _identify(self._file):
            return self._connection
        self.close()
        self._connection = open_database(self._file, MIGRATIONS, patience=self._patience)
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        self._identity = _identify(self._file)
        return self._connection


def sum_files(files: Iterable[tuple[str, Path]], since: float) -> TeamSums:
    """Add up the databases of people by their name; blocking. Raises CallError where one cannot be read."""
    runs: list[RunSum] = []
    calls: list[CallSum] = []
    for person, file in files:
        with worded(file), closing(open_database(file, MIGRATIONS)) as connection:
            runs += [RunSum(*row) for row in connection.execute(_SUM_RUNS, (person, since))]
            calls += [CallSum(*row) for row in connection.execute(_SUM_CALLS, (person, since))]
    return TeamSums(runs, calls)


@contextmanager
def open_copy(rows: StatBatch) -> Iterator[sqlite3.Connection]:
    """Give rows that lie elsewhere as such a database, so that all figures are worked out in one way."""
    steps = [step for steps in MIGRATIONS for step in steps]
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in steps:
            if not step.startswith(_INDEX):
                connection.execute(step)
        _insert(connection, rows)
        for step in steps:  # all rows are of the time that is asked for, so none are found by that
            if step.startswith(_INDEX) and not step.endswith("(ended)"):
                connection.execute(step)
        yield connection


def _insert(connection: sqlite3.Connection, rows: StatBatch) -> None:
    """Add the rows; a number that two servers drew by chance must not lose the whole batch."""
    connection.executemany(f"INSERT OR IGNORE INTO runs VALUES ({', '.join('?' * 11)})", rows.runs)
    connection.executemany(f"INSERT INTO calls VALUES ({', '.join('?' * 11)})", rows.calls)
    connection.executemany(f"INSERT INTO models VALUES ({', '.join('?' * 8)})", rows.models)


def _identify(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
