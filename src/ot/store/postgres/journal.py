"""The journal in PostgreSQL: lines wait for nobody, and are committed with those of all other runs of this process.

Who must know that lines are there awaits `settle`. A run is in use as long as the lease of the process that writes it
lasts (`link`); where an older OneTool writes, which has none, as long as the database knows of a connection of it.
Whoever goes on from a run takes it over (`take_run`), and no line of it that is committed later counts (`add_lines`).
"""

from __future__ import annotations

import errno
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from asyncpg import Record

from ot.store.owner import Owner, shared_project
from ot.store.parts import MOST_RUNS, SPOILT, WHOLE, FoundRun, Mark, Place
from ot.store.postgres.group_commit import Connection, Row
from ot.store.postgres.link import LEASE, PostgresLink

_LAST = 2**63 - 1  # behind the ids of all rows
PRUNING = 300.0  # seconds
_PARTS = 8  # of the size of all, for one value
_NUMBER = b'"n":'  # ends the beginning of a line
_EVENT = re.compile(rb'"n":\d+,"event":"(?P<event>start|resume|ended)"')
_OWN_ROW = (b'"event":"resume"', b'"event":"ended"')

_ADD_LINES = "SELECT add_lines($1, $2, $3, $4, $5, $6, $7)"
_TAKE = "SELECT take_run($1, $2, $3, $4, $5, $6)"
_ADD_VALUE = "INSERT INTO journal_values (name, principal, project, run, written, data) VALUES ($1, $2, $3, $4, $5, $6)"
_SPOIL = """
UPDATE journal_lines SET lines = overlay(lines placing $4::bytea from $5)
WHERE principal = $1 AND project = $2 AND run = $3 AND event = 'start'
"""
_READ = """
WITH found AS MATERIALIZED (
    SELECT id, lines, writer FROM journal_lines WHERE principal = $1 AND project = $2 AND run = $3
)
SELECT lines, connected, rest FROM found JOIN (
    SELECT each.writer, extract(epoch FROM writers.until - clock_timestamp())::float8 AS rest,
        EXISTS (SELECT FROM pg_stat_activity WHERE application_name = each.writer) AS connected
    FROM (SELECT DISTINCT writer FROM found) AS each LEFT JOIN writers ON name = each.writer
) AS states USING (writer) ORDER BY id
"""
_READ_HEIRS = "SELECT heir FROM run_owners WHERE principal = $1 AND project = $2 AND run = $3 ORDER BY number"
_READ_EVENTS = """
SELECT lines FROM journal_lines WHERE principal = $1 AND project = $2 AND event = ANY($3) ORDER BY id
"""
_READ_LATEST = f"""
WITH latest AS MATERIALIZED (
    SELECT id FROM journal_lines
    WHERE (principal, project, id) > ($1, $2, 0) AND (principal, project, id) < ($1, $2, {_LAST})
        AND event <> '' AND event = 'start'
    ORDER BY principal DESC, project DESC, id DESC LIMIT $4
)
SELECT lines FROM journal_lines WHERE (principal, project, id) >= ($1, $2, (SELECT min(id) FROM latest))
    AND (principal, project, id) < ($1, $2, {_LAST}) AND event <> '' AND event = ANY($3)
ORDER BY principal, project, id
"""
"""Rows are compared, and in this order, so that only `journal_runs` fits: by the key alone, the runs of somebody who
has done nothing for long would be looked for among all that others did since."""

_FIND_EXCESS = """
SELECT project, run FROM (
    SELECT project, run, sum(sum(size)) OVER (ORDER BY max(written) DESC, run) AS total, max(written) AS last FROM (
        SELECT project, run, written, octet_length(lines) AS size FROM journal_lines WHERE principal = $1
        UNION ALL
        SELECT project, run, written, octet_length(data) FROM journal_values WHERE principal = $1
    ) AS parts GROUP BY project, run
) AS runs WHERE last < $2 OR total > $3
"""


class PostgresJournal:
    """Keeps the journal of one engine, among those of all others."""

    waits = True

    def __init__(
        self, link: PostgresLink, *, keep_for: float, max_size: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._link = link
        self._keep_for = keep_for
        self._max_size = max_size
        self._clock = clock
        self._next_pruning: dict[str, float] = {}  # by principal
        self._taken: dict[str, str] = {}  # runs of this process whose lines were refused, and who has them

    # -- writing; nothing here blocks

    def begin(self, line: bytes) -> Mark:
        beginning = line[: line.index(_NUMBER)]
        run = _run_of(beginning)
        self._add(run, "start", line)
        self._prune_when_due(run[0])
        return Mark(beginning.decode("ascii"), line.index(WHOLE))

    def append(self, lines: bytes) -> None:
        run = _run_of(lines[: lines.index(_NUMBER)])
        if not any(event in lines for event in _OWN_ROW):
            self._add(run, "", lines)
            return
        for line in lines.splitlines(keepends=True):
            found = _EVENT.search(line)
            self._add(run, found["event"].decode("ascii") if found is not None else "", line)

    def spoil(self, mark: Mark) -> None:
        """Have it said of a run that not all of its lines are there, if that can be said."""
        self._link.check()
        self._link.commits.add(_SPOIL, *_run_of(mark.file.encode("ascii")), SPOILT, mark.offset + 1)

    def keep(self, beginning: bytes, data: bytes) -> Place:
        if len(data) > self._max_size // _PARTS:
            raise OSError(errno.EFBIG, f"a value of {len(data) // 1024**2} MB is too large for the journal")
        self._link.check()
        name = secrets.token_hex(16)
        run = _run_of(beginning[: beginning.index(_NUMBER)])
        self._link.commits.add(_ADD_VALUE, name, *run, self._clock(), data, size=len(data))
        return name, 0, len(data)

    async def settle(self) -> None:
        """Wait until everything is committed; raises OSError where it is not."""
        self._link.check()
        await self._link.commits.settle()

    async def ready(self) -> None:
        """Wait until the journal can be written; raises OSError where it cannot."""
        await self._link.ready()

    def close(self) -> None:
        """Do nothing: the link is closed by its owner."""

    # -- reading; blocking

    def load_key(self) -> bytes:
        """Return the key that all replicas compare calls with; raises OSError before there is a link."""
        return self._link.derive_key("journal")

    def fetch(self, place: Place) -> bytes:
        name, _, size = place
        for (data,) in self._link.fetch_now("SELECT data FROM journal_values WHERE name = $1", name):
            if isinstance(data, bytes) and len(data) == size:
                return data
        raise OSError(errno.ENODATA, "it is no longer kept")

    def take(self, owner: Owner, run: str, heir: str, number: int) -> bool:
        place = owner.principal, shared_project(owner), run
        [(taken,)] = self._link.fetch_now(_TAKE, *place, number, heir, self._clock())
        return bool(taken)

    def taken_by(self, run: str) -> str:
        return self._taken.get(run, "")

    def read(self, owner: Owner, run: str) -> FoundRun | None:
        if not (run.isascii() and run.isalnum()):
            return None  # nobody has such a name, and the database would not take it
        place = owner.principal, shared_project(owner), run

        async def read(connection: Connection) -> tuple[list[Record], list[Record]]:
            return await connection.fetch(_READ, *place), await connection.fetch(_READ_HEIRS, *place)

        rows, heirs = self._link.run_now(read)
        lines = [line for row in rows for line in row["lines"].splitlines(keepends=True)]
        if not lines:
            return None
        connected, rest = rows[0]["connected"], rows[0]["rest"]
        in_use = connected if rest is None else rest > 0
        reached = connected and (rest is None or rest > LEASE / 2)
        return FoundRun(lines, in_use, 0.0 if reached or not in_use else rest, tuple(row["heir"] for row in heirs))

    def read_events(self, owner: Owner, events: tuple[str, ...], *, most: int = MOST_RUNS) -> Iterator[bytes]:
        whose = owner.principal, shared_project(owner), list(events)
        rows = (_READ_EVENTS, *whose) if most == MOST_RUNS else (_READ_LATEST, *whose, most)
        for row in self._link.fetch_now(*rows):
            yield row["lines"]

    # -- rows

    def _add(self, run: tuple[str, str, str], event: str, lines: bytes) -> None:
        self._link.check()
        written = *run, event, self._clock(), lines
        self._link.commits.add(_add_lines, self._taken, self._link.name, *written, size=len(lines))

    def _prune_when_due(self, principal: str) -> None:
        now = self._clock()
        if now < self._next_pruning.get(principal, 0):
            return
        self._next_pruning[principal] = now + min(PRUNING, self._keep_for / _PARTS)

        async def prune(connection: Connection) -> None:
            excess = await connection.fetch(_FIND_EXCESS, principal, now - self._keep_for, self._max_size)
            places = [(principal, row["project"], row["run"]) for row in excess]
            for table in ("journal_lines", "journal_values", "undo_frames", "run_owners"):
                one_run = f"DELETE FROM {table} WHERE principal = $1 AND project = $2 AND run = $3"
                await connection.executemany(one_run, places)

        self._link.submit(prune)


async def _add_lines(connection: Connection, rows: list[Row]) -> None:
    """Write lines with one statement, and note which of their runs others have taken over."""
    taken, processes, *columns = zip(*rows, strict=True)
    refused = await connection.fetchval(_ADD_LINES, processes[0], *map(list, columns)) or ()
    by_run = dict(zip(columns[2], taken, strict=True)) if refused else {}
    for run, heir in zip(refused[::2], refused[1::2], strict=True):
        by_run[run][run] = heir


@lru_cache(maxsize=256)  # a run writes several times, soon after each other
def _run_of(beginning: bytes) -> tuple[str, str, str]:
    """Return the principal, the project and the run of a line that begins like this."""
    facts = json.loads(beginning.rstrip(b",") + b"}")
    owner = Owner(facts["principal"], Path(facts["project"]))
    return owner.principal, shared_project(owner), facts["run"]
