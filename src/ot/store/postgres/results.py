"""Results in PostgreSQL: a row for each with its file in pieces, all of them committed together.

Adding one also removes, of the same owner, results that have expired and the oldest ones beyond the limit: from time
to time, and when this process has added as much as there was room for.

Files of this machine are copies. On a disk that is full they give way; where that is not enough, new ones are in
memory for as long as somebody is likely to read them.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from weakref import finalize

from ot.errors import ExpiredResultError, UnknownResultError
from ot.store import results
from ot.store.owned_files import write_all
from ot.store.owner import Owner, shared_project
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink

_PUT = """
INSERT INTO results (principal, handle, header, size, created, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
"""
_PUT_PIECE = "INSERT INTO result_pieces (principal, handle, place, data) VALUES ($1, $2, $3, $4)"
_EXPIRED = "SELECT handle FROM results WHERE principal = $1 AND NOT gone AND handle <> $2 AND expires <= $3 LIMIT $4"
_SUM = "SELECT coalesce(sum(size), 0)::bigint FROM results WHERE principal = $1 AND NOT gone AND expires > $2"
_OLDEST = """
(SELECT handle, size FROM results WHERE principal = $1 AND NOT gone AND handle <> $2
    AND expires > $3 AND expires <= $3 + $4 ORDER BY expires LIMIT $5)
UNION ALL
(SELECT handle, size FROM results WHERE principal = $1 AND NOT gone AND handle <> $2
    AND expires > $3 + $4 ORDER BY created LIMIT $5)
"""
_END = """
WITH ending AS (
    UPDATE results SET gone = true, size = 0 WHERE principal = $1 AND NOT gone AND handle = ANY($2) RETURNING handle
) DELETE FROM result_pieces WHERE principal = $1 AND handle = ANY($2) AND handle IN (SELECT handle FROM ending)
"""
_HEADERS = """
SELECT handle, header FROM results WHERE principal = $1 AND NOT gone AND expires > $2 {named}
ORDER BY created DESC LIMIT $3
"""
_FORGET = """
DELETE FROM results WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM results WHERE principal = $1 AND gone ORDER BY expires DESC OFFSET $2 LIMIT 5000
))
"""

_NAME_RESULT = """
INSERT INTO kept_names (kind, principal, project, name, handle, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, principal, project, name) DO UPDATE SET handle = excluded.handle, expires = excluded.expires
"""

_OWNED = "kind = $1 AND principal = $2 AND project = $3"
_FIND_NAME = f"SELECT handle, expires FROM kept_names WHERE {_OWNED} AND name = $4"


MEMORY = Path("/dev/shm")
_BATCH = 500  # results that are let go of with a new one
ROOM = 32 * 1024**2  # bytes that a disk has left for another copy


class PostgresResults(results.ResultFiles):
    """The results of one principal; the files of this machine are copies, which are fetched when they are needed."""

    def __init__(self, link: PostgresLink, principal: str, folder: Path, *, memory: Path = MEMORY) -> None:
        """`memory` is a folder that is not on the disk of the others; where it is not there, nothing is."""
        super().__init__(folder)
        self._link = link
        self._principal = principal
        self._memory = memory
        self._spare: Path | None = None
        self._shared_room = results.Room()

    def find_room(self) -> Path:
        with suppress(OSError):
            if _free(super().find_room()) >= ROOM:
                return self.folder
            self._remove_copies(self.folder)
            if _free(self.folder) >= ROOM:
                return self.folder
        if not self._memory.is_dir():
            return super().find_room()
        if self._spare is None:
            self._spare = Path(mkdtemp(prefix="onetool-results-", dir=self._memory))
            finalize(self, rmtree, self._spare, ignore_errors=True)
        self._remove_copies(self._spare)
        return self._spare

    def file_of(self, handle: str, ending: str = results.RESULT) -> Path:
        if self._spare is not None and (spare := self._spare / f"{handle}{ending}").exists():
            return spare
        return super().file_of(handle, ending)

    def _remove_copies(self, folder: Path) -> None:
        """Remove copies that nobody is about to open."""
        old = time.time() - results.LAST_READERS
        for file in folder.iterdir():
            with suppress(OSError):
                if file.lstat().st_ctime < old:
                    file.unlink()

    def finish(self, handle: str, *, created: float, expires: float, max_size: int) -> None:
        place, file = (self._principal, handle), self.file_of(handle, results.UNFINISHED)

        async def put(connection: Connection) -> bool:
            async with connection.transaction():
                facts = header, os.fstat(stream.fileno()).st_size, created, expires
                if await connection.execute(_PUT, *place, *facts) != "INSERT 0 1":
                    return False
                for start, piece in results.read_pieces(stream.fileno()):
                    await connection.execute(_PUT_PIECE, *place, start, piece)
                if self._shared_room.is_used_up(created, facts[1]):
                    await self._end(connection, handle, created, max_size)
            return True

        with file.open("rb") as stream:
            header = stream.read(results.HEADER)
            added = self._link.run_now(put)
        if not added:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        super().finish(handle, created=created, expires=expires, max_size=max_size)

    async def _end(self, connection: Connection, new: str, now: float, max_size: int) -> None:
        """Let go of what has expired, and of the oldest where all of it is too large: some now, more with the next."""
        place = self._principal, new, now
        going = [row["handle"] for row in await connection.fetch(_EXPIRED, *place, _BATCH)]
        left = await connection.fetchval(_SUM, self._principal, now)
        oldest = await connection.fetch(_OLDEST, *place, results.LAST_READERS, _BATCH) if left > max_size else []
        for handle, size in oldest:
            if left > max_size:
                going.append(handle)
                left -= size
        if going:
            await connection.execute(_END, self._principal, going)
            await connection.execute(_FORGET, self._principal, results.MOST_GONE)
        self._shared_room.note(now, max_size - left)

    def find(self, handle: str, *, now: float) -> Path:
        statement = "SELECT expires, gone FROM results WHERE principal = $1 AND handle = $2"
        row = next(iter(self._link.fetch_now(statement, self._principal, handle)), None)
        if row is None:
            raise UnknownResultError(handle)
        if row["gone"] or row["expires"] <= now:
            raise ExpiredResultError(handle)
        if not self.file_of(handle).exists():
            self.receive(handle, expires=row["expires"], write=partial(self._fetch, handle))
        return self.file_of(handle)

    def headers(
        self, *, now: float, most: int = results.ALL, only: Collection[str] | None = None
    ) -> list[tuple[str, bytes]]:
        named = "" if only is None else "AND handle = ANY($4)"
        values = (self._principal, now, most, *([] if only is None else [[*only]]))
        return [(row["handle"], row["header"]) for row in self._link.fetch_now(_HEADERS.format(named=named), *values)]

    def let_go(self, handle: str, *, end: float) -> None:
        statement = "UPDATE results SET expires = least(expires, $3) WHERE principal = $1 AND handle = $2"
        super().let_go(handle, end=end)
        self._link.fetch_now(statement, self._principal, handle, end)

    def _fetch(self, handle: str, descriptor: int) -> None:
        which = "WHERE principal = $1 AND handle = $2"
        pieces = f"SELECT place, data FROM result_pieces {which} ORDER BY place"

        async def fetch(connection: Connection) -> bool | OSError:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                size = await connection.fetchval(f"SELECT size FROM results {which}", self._principal, handle)
                written = 0
                async for row in connection.cursor(pieces, self._principal, handle, prefetch=4):
                    try:
                        write_all(descriptor, row["data"], row["place"])
                    except OSError as error:  # of this machine's disk, which says nothing of the database
                        return error
                    written += len(row["data"])
            return bool(size) and written == size

        fetched = self._link.run_now(fetch)
        if isinstance(fetched, OSError):
            raise fetched
        if not fetched:
            raise ExpiredResultError(handle)  # in this very moment


def _free(folder: Path) -> int:
    """Return how many bytes may still be written below a folder."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


class PostgresKeptNames:
    """The names of one kind: of values, or of answers. Blocking."""

    def __init__(self, link: PostgresLink, *, kind: str) -> None:
        self._link = link
        self._kind = kind

    def put(self, owner: Owner, name: str, entry: results.KeptEntry, *, now: float) -> results.KeptEntry | None:
        place = self._place(owner)

        async def put(connection: Connection) -> tuple[int, results.KeptEntry | None]:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", " ".join(place))
                gone = f"DELETE FROM kept_names WHERE {_OWNED} AND expires < $4"
                await connection.execute(gone, *place, now - results.REMEMBERED)
                found = await connection.fetchrow(_FIND_NAME, *place, name)
                count = await connection.fetchval(f"SELECT count(*) FROM kept_names WHERE {_OWNED}", *place)
                if found is None and count >= results.MOST_NAMES:
                    return count, None
                await connection.execute(_NAME_RESULT, *place, name, entry.handle, entry.expires)
                return 0, None if found is None else results.KeptEntry(*found)

        too_many, before = self._link.run_now(put)
        if too_many:
            raise OSError(errno.EDQUOT, f"there are {results.MOST_NAMES:,} kept values already")
        return before

    def get(self, owner: Owner, name: str) -> results.KeptEntry | None:
        found = self._link.fetch_now(_FIND_NAME, *self._place(owner), name)
        return results.KeptEntry(*found[0]) if found else None

    def entries(self, owner: Owner) -> dict[str, results.KeptEntry]:
        statement = f'SELECT name, handle, expires FROM kept_names WHERE {_OWNED} ORDER BY name COLLATE "C"'
        found = self._link.fetch_now(statement, *self._place(owner))
        return {name: results.KeptEntry(*entry) for name, *entry in found}

    def _place(self, owner: Owner) -> tuple[str, str, str]:
        return self._kind, owner.principal, shared_project(owner)
