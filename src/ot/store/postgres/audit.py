"""Lines of the audit log in PostgreSQL: the pieces of each file, which are put together again when they are read.

Lines that could not be committed because the database was gone are committed once it is back.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from mcp_core.file_lock import try_lock
from ot.store.newest_lines import LinePlace, LogLine, chain_of
from ot.store.owned_files import name_file
from ot.store.parts import AUDIT_ENDING, AuditRows
from ot.store.postgres.link import PostgresLink

_ADD = """
INSERT INTO audit_lines (principal, file, place, writer, written, lines) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
"""
_READ = """
SELECT file, lines, EXISTS (SELECT FROM pg_stat_activity WHERE application_name = writer) AS in_use
FROM audit_lines WHERE {whose} ORDER BY file, place
"""
_NEWEST = """
SELECT principal, written, file, place, lines FROM audit_lines
WHERE (principal, written, file, place) > ($1, '-infinity', '', 0)
    AND (principal, written, file, place) < ($1, $2, $3, $4)
ORDER BY principal DESC, written DESC, file DESC, place DESC LIMIT $5
"""
_NEWEST_OF_ALL = """
SELECT principal, written, file, place, lines FROM audit_lines
WHERE strpos(lower(principal), lower($1)) > 0 AND written <= $2 AND (written, file, place) < ($2, $3, $4)
ORDER BY written DESC, file DESC, place DESC LIMIT $5
"""
_ABOUT = """
SELECT lines FROM audit_lines WHERE principal = $1 AND file = $2 AND place >= $3
    AND EXISTS (SELECT FROM unnest($4::bytea[]) AS wanted WHERE position(wanted IN lines) > 0)
ORDER BY place
"""
_EXISTS = "SELECT EXISTS (SELECT FROM audit_lines WHERE principal = $1 AND file = $2)"
_IN_USE = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name IN (
    SELECT writer FROM audit_lines WHERE principal = $1 AND file = $2 AND place = 0
))
"""
_PRUNE = """
DELETE FROM audit_lines WHERE principal = $1 AND file IN (
    SELECT file FROM (
        SELECT file, max(written) AS last,
            sum(sum(octet_length(lines))) OVER (ORDER BY max(written) DESC, file) AS total
        FROM audit_lines WHERE principal = $1 GROUP BY file
    ) AS files WHERE last < $2 OR total > $3
)
"""


_FEWEST, _MOST = 200, 5000  # rows fetched at once


class PostgresAuditRows(AuditRows):
    """The lines of one principal."""

    def __init__(self, link: PostgresLink, principal: str, *, everybody: bool = False) -> None:
        """With `everybody`, the lines are read of all people with this in their principal."""
        self._link = link
        self._principal = principal
        self._everybody = everybody
        self._owners: dict[str, str] = {}  # by file, of those that were read

    def add(self, file: str, offset: int, lines: bytes) -> None:
        """Have lines written; nobody waits for it, and a database that is gone gets them later."""
        row = self._principal, file, offset, self._link.name, time.time(), lines
        self._link.commits.add(_ADD, *row, size=len(lines), again=True)

    def prune(self, *, keep_for: float, most_bytes: int) -> None:
        """Have whole files removed that are too old or too much; nobody waits for it."""
        if not self._link.problem:
            limits = self._principal, time.time() - keep_for, most_bytes
            self._link.submit(lambda connection: connection.execute(_PRUNE, *limits))

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """Give a folder with all files; those whose process still writes are claimed as it would. Blocking."""
        whose = "strpos(lower(principal), lower($1)) > 0" if self._everybody else "principal = $1"
        found = self._link.fetch_now(_READ.format(whose=whose), self._principal)
        with TemporaryDirectory(prefix="onetool-audit-") as name, ExitStack() as stack:
            _copy(found, Path(name), stack)
            yield Path(name)

    def newest(self, before: LinePlace | None = None) -> Iterator[LogLine]:
        statement = _NEWEST_OF_ALL if self._everybody else _NEWEST
        last, step = before or (math.inf, "", 0), _FEWEST
        while rows := self._link.fetch_now(statement, self._principal, *last, step):
            for principal, written, file, place, lines in rows:
                self._owners[file] = principal
                parts = lines.splitlines(keepends=True)
                places = accumulate(map(len, parts[:-1]), initial=place)
                for at, raw in reversed([*zip(places, parts, strict=True)]):
                    if before is None or file != before[1] or at < before[2]:
                        yield LogLine((written, file, at), raw)
            last, step = (written, file, place), min(step * 2, _MOST)

    def about(self, file: str, place: int, calls: Collection[int]) -> Iterator[bytes]:
        wanted = [b'"call":%d,' % call for call in calls]
        owner, part = self._owners[file], int(file.split(".")[1])
        while self._link.fetch_now(_EXISTS, owner, file)[0][0]:
            for (lines,) in self._link.fetch_now(_ABOUT, owner, file, place, wanted):
                yield from (line for line in lines.splitlines(keepends=True) if any(each in line for each in wanted))
            place, part = 0, part + 1
            file = name_file(chain_of(file), part, AUDIT_ENDING)

    def in_use(self, file: str) -> bool:
        return bool(self._link.fetch_now(_IN_USE, self._owners[file], file)[0][0])


def rows_of_everybody(link: PostgresLink, person: str) -> PostgresAuditRows:
    """Return the lines of all principals with `person` in them, to be read."""
    return PostgresAuditRows(link, person, everybody=True)


def _copy(rows: Iterable[asyncpg.Record], folder: Path, stack: ExitStack) -> None:
    claimed: set[str] = set()
    for row in rows:
        with (folder / row["file"]).open("ab") as file:
            file.write(row["lines"])
        if row["in_use"] and row["file"] not in claimed:
            claimed.add(row["file"])
            descriptor = os.open(folder / row["file"], os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            try_lock(descriptor)
