"""State from before calls changed it, in the PostgreSQL that replicas share: a row for each frame."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ot.store.changes import FrameSeal, frame_place
from ot.store.owner import shared_project
from ot.store.parts import Retention, RunKey
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.sealing import Resealed, Sealer, begins_with

_AT_ONCE = 8  # frames that are read together
_ADD = "INSERT INTO undo_frames (principal, project, run, number, written, data) VALUES ($1, $2, $3, $4, $5, $6)"
_EXTEND = """
INSERT INTO undo_frames (principal, project, run, number, written, data) SELECT $1, $2, $3, $4::integer, $5, $6
WHERE (SELECT count(*) FROM undo_frames WHERE principal = $1 AND project = $2 AND run = $3) = $4::integer
ON CONFLICT DO NOTHING RETURNING number
"""
_READ = """
SELECT number, data FROM undo_frames
WHERE principal = $1 AND project = $2 AND run = $3 AND number >= $4 AND number < $5 ORDER BY number
"""
_PRUNE = """
DELETE FROM undo_frames USING (
    SELECT project, run, max(written) AS last,
        sum(sum(octet_length(data))) OVER (ORDER BY max(written) DESC, run) AS total
    FROM undo_frames WHERE principal = $1 AND NOT (project = $2 AND run = $3) GROUP BY project, run
) AS runs
WHERE undo_frames.principal = $1 AND undo_frames.project = runs.project AND undo_frames.run = runs.run
    AND (runs.last < $4 OR runs.total > $5)
"""


class PostgresChanges:
    """Keeps the frames of all people; blocking. Raises StoreUnavailableError."""

    def __init__(self, link: PostgresLink, *, kept: Retention, seal: FrameSeal) -> None:
        self._link = link
        self._kept = kept
        self._seal = seal

    def append(self, run: RunKey, number: int, frames: Sequence[bytes]) -> None:
        """Add frames; the first ones of a run make room for it."""
        place, now = _place(run), time.time()
        closed = [
            (*place, number + at, now, self._seal.close(run, number + at, data)) for at, data in enumerate(frames)
        ]

        async def add(connection: Connection) -> None:
            async with connection.transaction():
                if number == 0:
                    await connection.execute(_PRUNE, *place, now - self._kept.keep_for, self._kept.undo_size // 2)
                await connection.executemany(_ADD, closed)

        self._link.run_now(add)

    def extend(self, run: RunKey, number: int, frame: bytes) -> bool:
        sealed = self._seal.close(run, number, frame)
        return bool(self._link.fetch_now(_EXTEND, *_place(run), number, time.time(), sealed))

    def read(self, run: RunKey, first: int, count: int) -> Iterator[bytes]:
        end = first + count
        while first < end:
            rows = self._link.fetch_now(_READ, *_place(run), first, min(first + _AT_ONCE, end))
            for row in rows:
                yield self._seal.open(run, row["number"], row["data"])
            if len(rows) < _AT_ONCE:
                return
            first += _AT_ONCE

    def finish(self, run: RunKey) -> None:
        """Do nothing: no file is open."""

    def forget(self, runs: Iterable[str]) -> None:
        """Do nothing: the journal removes the rows of its runs together."""


def reseal_frames(link: PostgresLink, sealer: Sealer, found: Resealed) -> None:
    """Seal the frames of all people again that are sealed with an older key; blocking."""
    current = begins_with(sealer.ids[0])
    older = "SELECT principal, project, run, number FROM undo_frames WHERE substring(data FROM 1 FOR $1) <> $2"
    for row in link.fetch_now(older, len(current), current):
        link.run_now(partial(_reseal_frame, sealer, found, tuple(row)))


async def _reseal_frame(
    sealer: Sealer, found: Resealed, key: tuple[str, str, str, int], connection: Connection
) -> None:
    one, fresh = "principal = $1 AND project = $2 AND run = $3 AND number = $4", list[str]()
    async with connection.transaction():
        data = await connection.fetchval(f"SELECT data FROM undo_frames WHERE {one} FOR UPDATE", *key)
        if data is not None:
            found.seal(sealer, data.decode("ascii", "replace"), frame_place(key[0], key[2], key[3]), fresh.append)
        for sealed in fresh:
            await connection.execute(f"UPDATE undo_frames SET data = $5 WHERE {one}", *key, sealed.encode("ascii"))


def _place(run: RunKey) -> tuple[str, str, str]:
    owner, name = run
    return owner.principal, shared_project(owner), name
