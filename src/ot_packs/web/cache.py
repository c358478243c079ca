"""Pages that were fetched, kept in a database of the pack until the rules of HTTP make them stale."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from ot.databases import open_database, set_aside, transaction, worded
from ot.errors import DatabaseDamagedError, DatabaseUnavailableError
from ot_packs.net.bounded import Answer
from ot_packs.web.freshness import fresh_until, may_be_kept

_MIGRATIONS = (
    (
        """
        CREATE TABLE page (
            asked TEXT PRIMARY KEY, url TEXT NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL,
            body BLOB NOT NULL, fresh REAL NOT NULL, used REAL NOT NULL, size INTEGER NOT NULL
        )
        """,
        "CREATE INDEX page_used ON page (used)",
    ),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer from the database, and whether it may be used without a question."""

    answer: Answer
    fresh: bool


class PageCache:
    """The kept pages; one that cannot be read or written costs a request, never an answer. Its methods block."""

    def __init__(self, folder: Path, *, size: int) -> None:
        self._file = folder / "pages.db"
        self._size = size

    def find(self, url: str) -> Kept | None:
        """Return what is kept for an address."""
        try:
            with self._opened() as database:
                return self._find(database, url)
        except DatabaseDamagedError:
            set_aside(self._file)
        except DatabaseUnavailableError:
            pass
        return None

    def keep(self, url: str, answer: Answer) -> None:
        """Keep an answer, if it may be kept, and make room for it."""
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if not may_be_kept(answer.status, headers) or len(answer.body) > self._size // 10:
            return
        received = time.time()
        written, fresh = json.dumps(headers), fresh_until(headers, received)
        size = len(answer.body) + len(written)
        row = (url, answer.url, answer.status, written, answer.body, fresh, received, size)
        try:
            with self._opened() as database, transaction(database):
                database.execute("REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
                self._make_room(database)
        except DatabaseUnavailableError:
            return

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with worded(self._file), closing(open_database(self._file, _MIGRATIONS)) as database:
            yield database

    @staticmethod
    def _find(database: sqlite3.Connection, url: str) -> Kept | None:
        row = database.execute("SELECT url, status, headers, body, fresh FROM page WHERE asked = ?", (url,)).fetchone()
        if row is None:
            return None
        now = time.time()
        database.execute("UPDATE page SET used = ? WHERE asked = ?", (now, url))
        return Kept(Answer(row[0], row[1], httpx2.Headers(json.loads(row[2])), row[3]), now < row[4])

    def _make_room(self, database: sqlite3.Connection) -> None:
        """Remove the pages that were not used for longest, until the others fit."""
        (total,) = database.execute("SELECT coalesce(sum(size), 0) FROM page").fetchone()
        for asked, size in database.execute("SELECT asked, size FROM page ORDER BY used").fetchall():
            if total <= self._size:
                return
            database.execute("DELETE FROM page WHERE asked = ?", (asked,))
            total -= size
