"""SQLite databases of our own: how one is opened and brought up to date, and what happens to one that is damaged.

Several servers write to one file: a transaction is short, and a busy file is waited for. It is in WAL mode, so that
a process which is killed in the middle of a batch leaves the file as it was before. A file that is damaged is set aside
and a new one begun; one that a newer OneTool wrote is left alone.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mcp_core.file_lock import lock
from mcp_core.private_files import make_private, open_lock
from ot.errors import DatabaseBusyError, DatabaseDamagedError, DatabaseUnavailableError

BUSY_TIMEOUT = 5.0  # seconds that one waits for other servers
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_creating = threading.Lock()  # so that no thread connects to a file that another one has yet to close

Migrations = tuple[tuple[str, ...], ...]
"""Statements that take a database from one version to the next, for each version; only ever added to."""


def open_database(
    file: Path, migrations: Migrations, *, patience: float | None = None, through: bool = False
) -> sqlite3.Connection:
    """Open a database; it is made, or brought to this version, if need be.

    What is committed survives a process that is killed; with `through` also a loss of power, at the price of a wait.
    """
    make_private(file.parent)
    _make_file(file)
    timeout = BUSY_TIMEOUT if patience is None else patience
    connection = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        _check_version(connection, file, migrations)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if through else 'NORMAL'}")
        connection.execute("PRAGMA journal_size_limit = 4000000")
        migrate(connection, file, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_file(file: Path) -> None:
    """Create the file if it is missing, so that nobody else can read it; SQLite gives those beside it the same mode.

    A file that exists is never opened here: closing it would drop the locks that other connections of this process have
    on it, and the next process to close the database would delete the log that they use.
    """
    with _creating, suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if stat.S_ISLNK(os.lstat(file).st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(file))


@contextmanager
def worded(file: Path) -> Iterator[None]:
    """Turn errors of the database or the file system into DatabaseUnavailableError."""
    try:
        yield
    except sqlite3.Error as error:
        if _code_of(error) in _BUSY:
            raise DatabaseBusyError(file, "another server is writing to it; try again") from error
        kind = DatabaseDamagedError if means_damage(error) else DatabaseUnavailableError
        raise kind(file, str(error)) from error
    except OSError as error:
        raise DatabaseUnavailableError(file, error.strerror or str(error)) from error


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
        raise DatabaseUnavailableError(
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


def set_aside(file: Path) -> None:
    """Give a damaged database another name, so that a new one can begin; of several servers only one does it."""
    with open_lock(file.parent / f"{file.name}.lock") as held:
        lock(held.fileno())
        if not _is_damaged(file):
            return  # another one was here first
        mark = f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        for suffix in ("-wal", "-shm", ""):
            place = file.with_name(file.name + suffix)
            if place.exists():
                place.rename(file.with_name(f"{file.name}.{mark}{suffix}"))
        for old in sorted(file.parent.glob(f"{file.name}.damaged-*"))[:-6]:  # two stay, of up to three files each
            old.unlink()


def _is_damaged(file: Path) -> bool:
    """True if SQLite finds damage, after looking through the whole file."""
    if not file.exists():
        return False
    with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT, isolation_level=None)) as connection:
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except sqlite3.DatabaseError as error:
            return means_damage(error)


def means_damage(error: sqlite3.Error) -> bool:
    """True if the file is damaged, as against one that cannot be used at the moment."""
    return _code_of(error) in _DAMAGED


def _code_of(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
