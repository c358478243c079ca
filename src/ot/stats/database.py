"""The database of statistics: its schema, and how notes become rows.

Several servers write to one file: transactions are short, a busy file is waited for, and nobody keeps one open between
batches. It is in WAL mode, so that a process which is killed in the middle of a batch leaves the file as it was before.
A file that is damaged is set aside and a new one begun; one that a newer OneTool wrote is left alone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ot.errors import StatsUnavailableError
from ot.stats.recorder import BUSY_TIMEOUT, CallNote, ModelNote, Note, RunNote
from ot.stats.tokens import classify_text, classify_wire

MOST_ROWS = 1_000_000  # of a table
_PRUNE_INTERVAL = 3600.0  # seconds
_PRUNE_CHUNK = 10_000  # rows of one transaction
_LONGEST_NAME = 120
_TABLES = ("calls", "runs", "models")
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}

Migrations = tuple[tuple[str, ...], ...]

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


class BusyError(Exception):
    """Others held the database for longer than one waits."""


class Writer:
    """Writes batches, one transaction each. Not for several threads at once."""

    def __init__(self, file: Path, server: int, *, keep_days: int, patience: float = BUSY_TIMEOUT) -> None:
        self._file = file
        self._patience = patience
        self._server = server
        self._keep_days = keep_days
        self._prune_at = 0.0
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def write(self, batch: Sequence[Note]) -> None:
        """Write all of it or nothing; raises BusyError or StatsUnavailableError."""
        with worded(self._file):
            try:
                self._write(batch)
            except sqlite3.DatabaseError as error:
                if not _means_damage(error):
                    raise
                self.close()
                set_aside(self._file)
                self._write(batch)

    def _write(self, batch: Sequence[Note]) -> None:
        connection = self._connect()
        with transaction(connection):
            insert(connection, self._server, batch)
        now = time.monotonic()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_INTERVAL
            prune(connection, keep_days=self._keep_days)

    def _connect(self) -> sqlite3.Connection:
        """The database of this name: another server may have set aside, or a person removed, the one that is open."""
        if self._connection is not None and self._identity == _identify(self._file):
            return self._connection
        self.close()
        self._connection = open_database(self._file, patience=self._patience)
        self._identity = _identify(self._file)
        return self._connection

    def close(self) -> None:
        """Let go of the file; the next batch opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def open_database(
    file: Path, *, patience: float = BUSY_TIMEOUT, migrations: Migrations = MIGRATIONS
) -> sqlite3.Connection:
    """Open the database; it is made, or brought to this version, if need be."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Made by us, so that nobody else can read it; the files that SQLite puts beside it get the same mode.
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(file, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        _check_version(connection, file, migrations)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 4000000")
        migrate(connection, file, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def open_for_reading(file: Path) -> Iterator[sqlite3.Connection]:
    """The database as it is at one moment; raises StatsUnavailableError.

    A reader makes and migrates it too, so that what is read has one form.
    """
    with worded(file):
        connection = open_database(file)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()


@contextmanager
def worded(file: Path) -> Iterator[None]:
    """Turn what the database or the file system says into errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _BUSY:
            raise BusyError from error
        raise StatsUnavailableError(file, str(error)) from error
    except OSError as error:
        raise StatsUnavailableError(file, error.strerror or str(error)) from error


def migrate(connection: sqlite3.Connection, file: Path, migrations: Migrations) -> None:
    """Bring the tables to this version: wholly, or not at all where the process is killed meanwhile."""
    if _check_version(connection, file, migrations) == len(migrations):
        return
    with transaction(connection):
        # Another server may have done it while this one waited for its turn.
        found = _check_version(connection, file, migrations)
        for steps in migrations[found:]:
            for step in steps:
                connection.execute(step)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _check_version(connection: sqlite3.Connection, file: Path, migrations: Migrations) -> int:
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > len(migrations):
        raise StatsUnavailableError(
            file, f"a newer OneTool wrote it (schema {found}, this one knows {len(migrations)}); it is left as it is"
        )
    return found


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside happens, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def prune(connection: sqlite3.Connection, *, keep_days: int, most_rows: int = MOST_ROWS) -> None:
    """Delete what is too old, and what is too much, a piece at a time, so that others can write in between.

    All tables lose the same stretch of time: a run without its calls would tell a wrong story.
    """
    before = time.time() - keep_days * 24 * 3600
    for table in _TABLES:
        newest = f"SELECT ended FROM {table} ORDER BY ended DESC LIMIT 1 OFFSET ?"
        for (last,) in connection.execute(newest, (most_rows,)):
            before = max(before, last)
    for table in _TABLES:
        statement = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE ended <= ? LIMIT {_PRUNE_CHUNK})"
        while connection.execute(statement, (before,)).rowcount == _PRUNE_CHUNK:
            pass


def set_aside(file: Path) -> None:
    """Give a damaged database another name, so that a new one can begin; of several servers only one does it."""
    with (file.parent / f"{file.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_damaged(file):
            return  # another one was here first
        mark = f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        for suffix in ("-wal", "-shm", ""):
            place = file.with_name(file.name + suffix)
            if place.exists():
                place.rename(file.with_name(f"{file.name}.{mark}{suffix}"))


def is_damaged(file: Path) -> bool:
    """Whether SQLite says so, after looking through all of it."""
    if not file.exists():
        return False
    connection = sqlite3.connect(file, timeout=BUSY_TIMEOUT, isolation_level=None)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        return _means_damage(error)
    finally:
        connection.close()


def _means_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGED


def _identify(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def insert(connection: sqlite3.Connection, server: int, batch: Sequence[Note]) -> None:
    """Notes become rows; what the samples are is decided here, and they go no further."""
    runs, calls, models = [], [], []
    for note in batch:
        match note:
            case RunNote():
                runs.append(_run_row(server, note))
            case ModelNote():
                models.append((None, _name(note.provider), _name(note.model), note.ended, *note[3:]))
            case _:
                calls.append(_call_row(CallNote._make(note)))
    # A number that two servers drew by chance must not lose the whole batch.
    connection.executemany(f"INSERT OR IGNORE INTO runs VALUES ({', '.join('?' * 11)})", runs)
    connection.executemany(f"INSERT INTO calls VALUES ({', '.join('?' * 11)})", calls)
    connection.executemany(f"INSERT INTO models VALUES ({', '.join('?' * 8)})", models)


def _run_row(server: int, note: RunNote) -> tuple[Any, ...]:
    command = (note.command_bytes, classify_text(note.command))
    answer = (note.answer_bytes, classify_text(note.answer))
    names = (_name(note.client), note.ended, note.seconds, _name(note.error))
    return note.run, server, *names, *command, *answer, note.attachments


def _call_row(note: CallNote) -> tuple[Any, ...]:
    sent = (note.sent, classify_wire(note.sent_sample))
    received = (note.received, classify_wire(note.received_sample))
    return None, note.run, note.depth, _name(note.tool), note.ended, note.seconds, _name(note.error), *sent, *received


def _name(text: str) -> str:
    """A name as others gave it, short and in characters that can be stored."""
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode()
