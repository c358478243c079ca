"""The writer of notes: rows, a batch at a time, and no more of them than should be kept."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from ot.stats.database import MIGRATIONS, insert
from ot.stats.notes import CallNote, ModelNote, Note, RunNote
from ot.stats.tokens import Kind, classify_text, classify_wire
from ot.store.databases import means_damage, open_database, set_aside, transaction, worded
from ot.store.stat_rows import Row, StatBatch, StatRows

MOST_ROWS = 1_000_000  # of a table
_PRUNE_INTERVAL = 3600.0  # seconds
_PRUNE_CHUNK = 10_000  # rows of one transaction
_LONGEST_NAME = 120
_CACHE = 256  # KiB of pages; SQLite would keep 2 MB that a server which only adds rows never reads again
_TURN = 32  # notes after which the thread lets others go on
_TABLES = ("calls", "runs", "models")


class Writer:
    """Writes batches, one transaction each. Not for several threads at once."""

    def __init__(self, file: Path, server: int, *, keep_days: int, patience: float | None) -> None:
        self._file = file
        self._patience = patience
        self._server = server
        self._keep_days = keep_days
        self._prune_at = 0.0
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def write(self, batch: Sequence[Note]) -> None:
        """Write all of it or nothing; raises DatabaseUnavailableError."""
        with worded(self._file):
            try:
                self._write(batch)
            except sqlite3.DatabaseError as error:
                if not means_damage(error):
                    raise
                self.close()
                set_aside(self._file)
                self._write(batch)

    def _write(self, batch: Sequence[Note]) -> None:
        connection = self._connect()
        rows = make_rows(self._server, batch)
        with transaction(connection):
            insert(connection, rows)
        now = time.monotonic()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_INTERVAL
            prune(connection, keep_days=self._keep_days)

    def _connect(self) -> sqlite3.Connection:
        """The database of this name: another server may have set aside, or a person removed, the one that is open."""
        if self._connection is not None and self._identity == _identify(self._file):
            return self._connection
        self.close()
        self._connection = open_database(self._file, MIGRATIONS, patience=self._patience)
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        self._identity = _identify(self._file)
        return self._connection

    def close(self) -> None:
        """Let go of the file; the next batch opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class SharedWriter:
    """Writes batches to the store that replicas share; raises OSError."""

    def __init__(self, rows: StatRows, server: int, *, keep_days: int) -> None:
        self._rows = rows
        self._server = server
        self._keep_days = keep_days
        self._prune_at = 0.0

    def write(self, batch: Sequence[Note]) -> None:
        """Write all of it or nothing."""
        self._rows.add(make_rows(self._server, batch))
        now = time.monotonic()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_INTERVAL
            self._rows.prune(time.time() - self._keep_days * 24 * 3600)

    def close(self) -> None:
        """Leave the store to whoever opened it."""


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


def _identify(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class _Kinds(dict[bytes, Kind]):
    """Kinds by sample: a loop makes many calls that are alike."""

    def __missing__(self, sample: bytes) -> Kind:
        self[sample] = kind = classify_wire(sample)
        return kind


def make_rows(server: int, batch: Sequence[Note]) -> StatBatch:
    """Turn notes into rows. The samples are classified here, and go no further."""
    runs: list[Row] = []
    calls: list[Row] = []
    models: list[Row] = []
    kinds = _Kinds()
    for place, note in enumerate(batch, 1):
        match note:
            case RunNote():
                runs.append(_run_row(server, note))
            case ModelNote():
                models.append((None, _name(note.provider), _name(note.model), note.ended, *note[3:]))
            case _:
                calls.append(_call_row(CallNote._make(note), kinds))
        if place % _TURN == 0:
            time.sleep(0)  # whoever answers a client meanwhile goes first
    return StatBatch(runs, calls, models)


def _run_row(server: int, note: RunNote) -> Row:
    command = (note.command_bytes, classify_text(note.command))
    answer = (note.answer_bytes, classify_text(note.answer))
    names = (_name(note.client), note.ended, note.seconds, _name(note.error))
    return note.run, server, *names, *command, *answer, note.attachments


def _call_row(note: CallNote, kinds: _Kinds) -> Row:
    sent = (note.sent, kinds[note.sent_sample])
    received = (note.received, kinds[note.received_sample])
    return None, note.run, note.depth, _name(note.tool), note.ended, note.seconds, _name(note.error), *sent, *received


def _name(text: str) -> str:
    """A name as others gave it, short and in characters that can be stored."""
    if len(text) <= _LONGEST_NAME and text.isascii():
        return text
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode()
