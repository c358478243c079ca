"""An index of the words of a folder's files, in a database of its own; it follows the files by their times.

Words are indexed without the text. A file that has changed is indexed again under another number, and words under the
numbers that no file has are skipped; when they have become many, the index is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from ot.files.folder_watch import FolderWatch
from ot.store.databases import open_database, transaction, worded
from ot_packs.code.source_files import SourceFile, SourceTree
from ot_packs.full_text import TOKENS, Term

# By its capital first, of which there are few: a pattern that looks behind at each letter takes five times as long.
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
_SCHEMA = (
    (
        "CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, version TEXT NOT NULL)",
        f"""CREATE VIRTUAL TABLE words USING fts5(
            path, body, content = '', tokenize = "{TOKENS}"
        )""",
        "CREATE TABLE leftovers (count INTEGER NOT NULL)",
        "INSERT INTO leftovers VALUES (0)",
    ),
    ("INSERT INTO words (words, rank) VALUES ('automerge', 16)",),  # many short parts are merged less often
)
_FOUND = """
    FROM words JOIN files ON files.id = words.rowid WHERE words MATCH ? AND files.path >= ? AND files.path < ?
"""
_RANKED = (
    f"WITH found AS MATERIALIZED (SELECT files.path, -bm25(words, 4.0, 1.0) AS score {_FOUND}) "
    "SELECT path, score, (SELECT COUNT(*) FROM found) FROM found ORDER BY score DESC, path LIMIT ? OFFSET ?"
)
_UNRANKED = f"SELECT files.path, 0.0 {_FOUND} ORDER BY words.rowid LIMIT ? OFFSET ?"
_COMMON = 0.2  # of the files: a word that so many have tells none of them from the others
_TICK = 50_000_000  # nanoseconds in which a file can change twice and show one time
_LAST = "\U0010ffff"  # sorts behind any path
Hit = tuple[str, float]  # the path of a file that was found, and its score, of which a higher one is better
_ReadFile = tuple[str, str, str]  # path, version, and words


def split_humps(text: str) -> str:
    """Return the text with a space wherever a word begins inside an identifier."""
    return _HUMP.sub(lambda found: f" {found[0]}", text)


def stems_of(terms: Iterable[Term]) -> set[str]:
    """Return the words of a query as they are looked for in lines: small, and without their endings."""
    return {re.sub(r"(?:ings?|ed|es|s|e)$", "", part) if len(part) > 4 else part for term in terms for part in term}


class Index:
    """The index of a folder. Blocking; not for several threads at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._most: int | None = None  # files that may have a word which still tells something

    def follow(self, tree: SourceTree, watch: FolderWatch) -> Generator[int, None, None]:
        """Bring the index up to date; yields now and then how many files were indexed. What was done so far is kept."""
        # All folders of the tree are put under the watch.
        done = 0
        while True:
            rows = self._select("SELECT path, id, version FROM files")
            known = {path: (number, version) for path, number, version in rows}
            with closing(tree.walk(watch=watch)) as walk, ThreadPoolExecutor(1) as reader:
                pending = (found for found in walk if known.pop(found.path, (0, ""))[1] != _version(found.status))
                reading = reader.submit(_read, pending)
                while read := reading.result():
                    reading = reader.submit(_read, pending)  # while these are indexed, which takes about as long
                    with transaction(self._connection):
                        for path, version, body in read:
                            self._put(path, version, body)
                    done += len(read)
                    yield done
            if self._forget([number for number, _ in known.values()]):
                return

    def _put(self, path: str, version: str, body: str) -> None:
        execute = self._connection.execute
        execute("UPDATE leftovers SET count = count + (SELECT COUNT(*) FROM files WHERE path = ?)", (path,))
        execute("DELETE FROM files WHERE path = ?", (path,))
        number = execute("INSERT INTO files (path, version) VALUES (?, ?)", (path, version)).lastrowid
        if body:
            execute("INSERT INTO words (rowid, path, body) VALUES (?, ?, ?)", (number, split_humps(path), body))

    def _forget(self, gone: list[int]) -> bool:
        """Forget files that are gone; False if there were so many words without a file that all were forgotten."""
        left, files = self._select("SELECT count, (SELECT COUNT(*) FROM files) FROM leftovers").fetchone()
        left += len(gone)
        full = left > files + 1000
        if gone or full:
            with transaction(self._connection):
                self._connection.executemany("DELETE FROM files WHERE id = ?", [(number,) for number in gone])
                self._connection.execute("UPDATE leftovers SET count = ?", (0 if full else left,))
                if full:
                    self._connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
                    self._connection.execute("DELETE FROM files")
        return not full

    def search(self, expression: str, *, below: str, limit: int, offset: int) -> tuple[list[Hit], int]:
        """Return the best files for an expression of FTS5 among those below a path, and how many there are."""
        # What most files have is not ranked: that would take long, and tell nothing.
        place = (f"{below}/", f"{below}/{_LAST}") if below else ("", _LAST)
        asked = (expression, *place, limit, offset)
        ranked = [] if self.is_common(expression) else self._select(_RANKED, asked).fetchall()
        if ranked:
            return [(path, round(score, 3)) for path, score, _ in ranked], ranked[0][2]
        total = self._select(f"SELECT COUNT(*) {_FOUND}", (expression, *place)).fetchone()[0]
        return self._select(_UNRANKED, asked).fetchall() if total else [], total

    def is_common(self, expression: str) -> bool:
        """True if most files have it; no more are counted than that takes."""
        if self._most is None:
            self._most = max(1000, int(self.count() * _COMMON))
        statement = "SELECT COUNT(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        found: int = self._select(statement, (expression, self._most + 1)).fetchone()[0]
        return found > self._most

    def count(self) -> int:
        return int(self._select("SELECT COUNT(*) FROM files").fetchone()[0])

    def _select(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)


def _read(pending: Iterator[SourceFile]) -> list[_ReadFile]:
    """Read some of the files, or none at the end."""
    until = time.monotonic() + 0.1  # seconds of indexing in one transaction: others wait for it
    read = []
    for found in pending:
        text = found.read()
        # What was written a moment ago may be written again within the same tick of the clock.
        settled = time.time_ns() - found.status.st_ctime_ns > _TICK
        read.append((found.path, _version(found.status) if settled else "", split_humps(text[0]) if text else ""))
        if time.monotonic() > until:
            break
    return read


@contextmanager
def open_index(folder: Path, root: Path) -> Iterator[Index]:
    """Open the index of a root among those that lie in a folder; raises DatabaseUnavailableError."""
    file = _file_of(folder, root)
    with _lock(file, fcntl.LOCK_SH), worded(file), closing(open_database(file, _SCHEMA)) as connection:
        connection.execute("PRAGMA cache_size = -65536")  # KiB: what is merged is read again soon
        yield Index(connection)


def discard_index(folder: Path, root: Path) -> None:
    """Remove an index that is damaged, once nobody has it open: it can be made again."""
    file = _file_of(folder, root)
    with _lock(file, fcntl.LOCK_EX):
        for suffix in ("-wal", "-shm", ""):
            file.with_name(file.name + suffix).unlink(missing_ok=True)


def _file_of(folder: Path, root: Path) -> Path:
    return folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:20]}.db"


@contextmanager
def _lock(file: Path, kind: int) -> Iterator[None]:
    with file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, kind)
        yield


def _version(status: os.stat_result) -> str:
    """Tell one version of a file from another; the time of a change cannot be set, as that of a modification can."""
    return f"{status.st_ctime_ns}:{status.st_size}"
