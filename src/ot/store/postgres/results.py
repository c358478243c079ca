"""Results in PostgreSQL: a row for each with its file in pieces, all of them committed together.

Whoever adds one removes, of the same owner, what has expired and the oldest of what is too much.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from ot.store.postgres.connection import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.result_rows import HEADER, LAST_READERS, MOST_GONE, ResultRow

PIECE = 1024 * 1024  # bytes

_PUT = """
INSERT INTO results (principal, handle, header, size, created, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
"""
_PUT_PIECE = "INSERT INTO result_pieces (principal, handle, place, data) VALUES ($1, $2, $3, $4)"
_FIND = "SELECT handle, header, expires, gone FROM results WHERE principal = $1"
_EXPIRE = """
WITH left_over AS (
    SELECT handle, expires, sum(size) OVER (ORDER BY handle <> $5, expires <= $2 + $4, created DESC, handle) AS total
    FROM results WHERE principal = $1 AND NOT gone AND expires > $2
), ending AS (
    UPDATE results SET gone = true, size = 0 WHERE principal = $1 AND NOT gone AND handle <> $5
        AND (expires <= $2 OR handle IN (SELECT handle FROM left_over WHERE total > $3))
    RETURNING handle
) DELETE FROM result_pieces WHERE principal = $1 AND handle IN (SELECT handle FROM ending)
"""
_FORGET = """
DELETE FROM results WHERE principal = $1 AND gone AND handle IN (
    SELECT handle FROM results WHERE principal = $1 AND gone ORDER BY expires DESC OFFSET $2
)
"""


class PostgresResults:
    """The results of one principal."""

    def __init__(self, link: PostgresLink, principal: str) -> None:
        self._link = link
        self._principal = principal

    def put(self, handle: str, file: Path, *, created: float, expires: float, max_size: int) -> None:
        """Add a result from its file; raises OSError."""
        place = self._principal, handle

        async def put(connection: Connection) -> bool:
            async with connection.transaction():
                with file.open("rb") as stream:
                    facts = stream.read(HEADER), os.fstat(stream.fileno()).st_size, created, expires
                    if await connection.execute(_PUT, *place, *facts) != "INSERT 0 1":
                        return False
                    for start, piece in _pieces(stream.fileno()):
                        await connection.execute(_PUT_PIECE, *place, start, piece)
                limits = created, max_size, LAST_READERS, handle
                if await connection.execute(_EXPIRE, self._principal, *limits) != "DELETE 0":
                    await connection.execute(_FORGET, self._principal, MOST_GONE)
            return True

        if not self._link.run_now(put):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))

    def find(self, handle: str) -> ResultRow | None:
        """Return what is known of a result; None if there never was one, or nobody remembers."""
        statement = f"{_FIND} AND handle = $2"
        found = self._link.run_now(lambda connection: connection.fetchrow(statement, self._principal, handle))
        return None if found is None else ResultRow(*found.values())

    def fetch(self, handle: str, descriptor: int) -> None:
        """Write the file of a result; raises OSError where not all of it is there any more."""
        found = self._link.run_now(lambda connection: _fetch(connection, self._principal, handle, descriptor))
        if not found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def let_go(self, handle: str, end: float) -> None:
        """Let a result expire at this moment, if it does not before."""
        statement = "UPDATE results SET expires = least(expires, $3) WHERE principal = $1 AND handle = $2"
        self._link.run_now(lambda connection: connection.execute(statement, self._principal, handle, end))

    def all(self) -> list[ResultRow]:
        """Return what is known of all results that have not gone, the oldest first."""
        statement = f"{_FIND} AND NOT gone ORDER BY created, handle"
        found = self._link.run_now(lambda connection: connection.fetch(statement, self._principal))
        return [ResultRow(*row.values()) for row in found]


async def _fetch(connection: Connection, principal: str, handle: str, descriptor: int) -> bool:
    """Write the pieces of one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        asked = "SELECT size FROM results WHERE principal = $1 AND handle = $2"
        size, written = await connection.fetchval(asked, principal, handle), 0
        statement = "SELECT place, data FROM result_pieces WHERE principal = $1 AND handle = $2 ORDER BY place"
        async for row in connection.cursor(statement, principal, handle, prefetch=4):
            os.pwrite(descriptor, row["data"], row["place"])
            written += len(row["data"])
    return bool(size) and written == size


def _pieces(descriptor: int) -> Iterator[tuple[int, bytes]]:
    start = 0
    while piece := os.pread(descriptor, PIECE, start):
        yield start, piece
        start += len(piece)
