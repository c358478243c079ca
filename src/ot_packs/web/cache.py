"""Pages that were fetched, kept in a database of the pack until the rules of HTTP make them stale."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx2

from ot.errors import DatabaseDamagedError, DatabaseUnavailableError
from ot.store.databases import open_database, set_aside, transaction, worded
from ot_packs.net.client import Answer

_GUESS = 0.1  # of an answer's age when it was sent: what does not change often will not change soon
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
    # The size of a row stands behind its body: summed up from the table, all pages would be read.
    ("CREATE INDEX page_size ON page (used, size)", "DROP INDEX page_used"),
)
KeptPage = tuple[Answer, bool]
"""An answer from the database, and whether it may be used without a question."""


def fresh_until(headers: Mapping[str, str], received: float) -> float:
    """Return the time until which an answer that was received then is used without a question."""
    directives = _directives(headers)
    if "no-cache" in directives:
        return received
    sent = _time(headers.get("date")) or received
    age = max(_seconds(headers.get("age")) or 0.0, received - sent, 0.0)
    lifetime = _seconds(directives.get("max-age"))
    if lifetime is None and "expires" in headers:
        lifetime = max((_time(headers["expires"]) or 0.0) - sent, 0.0)
    if lifetime is None and (changed := _time(headers.get("last-modified"))) is not None:
        lifetime = min(max(sent - changed, 0.0) * _GUESS, 86400.0)
    return received + (lifetime or 0.0) - age


def questions(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that ask whether a kept answer still holds; none if it cannot be asked for."""
    asked = {"if-none-match": headers.get("etag"), "if-modified-since": headers.get("last-modified")}
    return {name: value for name, value in asked.items() if value}


def _directives(headers: Mapping[str, str]) -> dict[str, str]:
    found = re.finditer(r"([\w-]+)(?:\s*=\s*(?:\"([^\"]*)\"|([^\s,;]+)))?", headers.get("cache-control", "")[:2000])
    return {match[1].lower(): match[2] or match[3] or "" for match in found}


def _seconds(text: str | None) -> float | None:
    return float(min(int(text), 10**9)) if text and text.isdecimal() and len(text) < 20 else None


def _time(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None


class PageCache:
    """The kept pages; one that cannot be read or written costs a request, never an answer.

    Its methods block, and are called one after the other, from any thread.
    """

    def __init__(self, folder: Path, *, size: int) -> None:
        self._file = folder / "pages.db"
        self._size = size
        self._database: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def find(self, urls: Sequence[str]) -> dict[str, KeptPage]:
        try:
            with self._opened() as database:
                return {url: kept for url in urls if (kept := self._find(database, url)) is not None}
        except DatabaseDamagedError:
            self.close()
            set_aside(self._file)
        except DatabaseUnavailableError:
            pass
        return {}

    def keep(self, answers: Sequence[tuple[str, Answer]]) -> None:
        """Keep the answers of addresses that may be kept, and make room for them."""
        rows = [row for url, answer in answers if (row := self._row(url, answer)) is not None]
        if not rows:
            return
        try:
            with self._opened() as database, transaction(database):
                database.executemany("REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
                self._make_room(database)
        except DatabaseUnavailableError:
            return

    def _row(self, url: str, answer: Answer) -> tuple[object, ...] | None:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        received = time.time()
        fresh = fresh_until(headers, received)
        useful = fresh > received or questions(headers)
        varies = {name.strip().lower() for name in headers.get("vary", "").split(",") if name.strip()}
        allowed = answer.status == 200 and "no-store" not in _directives(headers) and varies <= {"accept-encoding"}
        if not useful or not allowed or len(answer.body) > self._size // 10:
            return None
        written = json.dumps(headers)
        size = len(answer.body) + len(written)
        return url, answer.url, answer.status, written, answer.body, fresh, received, size

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with worded(self._file):
            if self._database is None:
                self._database = open_database(self._file, _MIGRATIONS)
                # What a loss of power takes, or damages, is fetched again.
                self._database.execute("PRAGMA synchronous = OFF")
            yield self._database

    @staticmethod
    def _find(database: sqlite3.Connection, url: str) -> KeptPage | None:
        row = database.execute("SELECT url, status, headers, body, fresh FROM page WHERE asked = ?", (url,)).fetchone()
        if row is None:
            return None
        now = time.time()
        if now < row[4]:  # what is stale is soon replaced
            database.execute("UPDATE page SET used = ? WHERE asked = ?", (now, url))
        return Answer(row[0], row[1], httpx2.Headers(json.loads(row[2])), row[3]), now < row[4]

    def _make_room(self, database: sqlite3.Connection) -> None:
        (total,) = database.execute("SELECT coalesce(sum(size), 0) FROM page INDEXED BY page_size").fetchone()
        if total <= self._size:
            return
        for asked, size in database.execute("SELECT asked, size FROM page ORDER BY used").fetchall():
            if total <= self._size:
                return
            database.execute("DELETE FROM page WHERE asked = ?", (asked,))
            total -= size
