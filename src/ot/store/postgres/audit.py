"""Lines of the audit log in PostgreSQL: the pieces of each file, which are put together again when they are read.

Lines that could not be committed because the database was gone are committed once it is back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from mcp_core.file_lock import try_lock
from ot.store.parts import AuditRows
from ot.store.postgres.link import PostgresLink

_ADD = """
INSERT INTO audit_lines (principal, file, place, writer, written, lines) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
"""
_READ = """
SELECT file, place, lines, EXISTS (SELECT FROM pg_stat_activity WHERE application_name = writer) AS in_use
FROM audit_lines WHERE principal = $1 ORDER BY file, place
"""
_READ_ALL = """
SELECT principal, file, lines, EXISTS (SELECT FROM pg_stat_activity WHERE application_name = writer) AS in_use
FROM audit_lines JOIN (
    SELECT DISTINCT principal, file FROM audit_lines WHERE written >= $1 AND written < $2
) AS chosen USING (principal, file)
WHERE strpos(lower(principal), lower($3)) > 0 ORDER BY principal, file, place
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


class PostgresAuditRows(AuditRows):
    def __init__(self, link: PostgresLink, principal: str) -> None:
        self._link = link
        self._principal = principal

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
        found = self._link.fetch_now(_READ, self._principal)
        with TemporaryDirectory(prefix="onetool-audit-") as name, ExitStack() as stack:
            _copy(found, Path(name), stack)
            yield Path(name)


@contextmanager
def copy_of_everybody(link: PostgresLink, *, since: float, until: float, person: str) -> Iterator[list[Path]]:
    """Give a folder for each principal with `person` in it, of whole files written to in this time. Blocking."""
    found = link.fetch_now(_READ_ALL, since, until, person)
    with TemporaryDirectory(prefix="onetool-audit-") as name, ExitStack() as stack:
        folders = []
        for number, (_, rows) in enumerate(groupby(found, key=lambda row: row["principal"])):
            folders.append(Path(name) / str(number))
            folders[-1].mkdir()
            _copy(rows, folders[-1], stack)
        yield folders


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
