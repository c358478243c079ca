"""The parts of a store, each behind a protocol of its own.

A line of the journal begins with its owner and its run, so that nothing is found by anybody else. The lines of the
audit log are for all replicas, beside the files that each writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from ot.store import owned_files
from ot.store.credentials import Credentials
from ot.store.newest_lines import LinePlace, LogLine, chain_of, find_parts, lines_about, newest_lines
from ot.store.owner import Owner
from ot.store.results import KeptNames, ResultFiles
from ot.store.shelf import Shelf

if TYPE_CHECKING:
    import sqlite3

STATS_FILE = "stats.db"
Row: TypeAlias = tuple[object, ...]
AUDIT_FOLDER, AUDIT_ENDING = "audit", ".jsonl"

WHOLE, SPOILT = b'"whole":1', b'"whole":0'
"""The mark in a run's first line that all its lines are there, and the one that replaces it once a line was lost."""

MOST_RUNS = 2**31 - 1  # all of them

RunKey: TypeAlias = tuple[Owner, str]
"""A run, and whose it is."""

Place: TypeAlias = tuple[str, int, int]
"""The place of a value that lies beside the lines: a file, an offset, and how many bytes."""


class StatBatch(NamedTuple):
    """Rows by table, with their columns in the order of the tables of `embedded_statistics`."""

    runs: Sequence[Row]
    calls: Sequence[Row]
    models: Sequence[Row]


class RunSum(NamedTuple):
    person: str
    runs: int
    failed: int


class CallSum(NamedTuple):
    person: str
    pack: str
    calls: int
    failed: int
    seconds: float


class TeamSums(NamedTuple):
    runs: Sequence[RunSum]
    calls: Sequence[CallSum]


class StatRows(Protocol):
    """The rows of one principal. Every method blocks; it raises DatabaseUnavailableError for a file of this machine,
    and OSError where the store that replicas share cannot be used."""

    @property
    def place(self) -> str: ...  # where they lie, for people to read
    def add(self, batch: StatBatch) -> None: ...  # all of them, or none
    def prune(self, before: float) -> None: ...

    def look(self, since: float) -> AbstractContextManager[sqlite3.Connection]:
        """Give a database with the rows since a moment, as they are now; raises CallError."""

    def close(self) -> None: ...


class AuditRows:
    """The lines of one principal: without replicas, the files that the log writes, and prunes, are all there is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, file: str, offset: int, lines: bytes) -> None:
        """Have lines kept that were written to a file of this machine."""

    def prune(self, *, keep_for: float, most_bytes: int) -> None:
        """Have whole files removed that are too old or too much."""

    def copied(self) -> AbstractContextManager[Path]:
        """Give a folder with all files. Blocking; raises OSError."""
        return nullcontext(self._folder)

    def newest(self, before: LinePlace | None = None) -> Iterator[LogLine]:
        """Yield lines, the newest first, of those before a place; read as they are asked for. Blocking."""
        return newest_lines(self._folder, AUDIT_ENDING, before)

    def about(self, file: str, place: int, calls: Collection[int]) -> Iterator[bytes]:
        """Yield the lines about some calls from a place in a file on, in it and those that follow it. Blocking."""
        parts = find_parts(self._folder, AUDIT_ENDING).get(chain_of(file), {})
        return lines_about([part for part in parts.values() if part.name >= file], place, calls)

    def in_use(self, file: str) -> bool:
        """True if the process that wrote a file may still write to its chain. Blocking."""
        parts = find_parts(self._folder, AUDIT_ENDING).get(chain_of(file), {})
        return bool(parts) and owned_files.is_in_use([*parts.values()][-1])


class Mark(NamedTuple):
    """The place at which the first line of a run says that nothing of the run was lost."""

    file: str
    offset: int


class FoundRun(NamedTuple):
    """The lines of a run, and whether the process that wrote them may still write."""

    lines: list[bytes]
    in_use: bool
    lost_in: float = 0.0  # seconds until it counts as lost, if that process cannot be reached at the moment
    heirs: tuple[str, ...] = ()  # the runs that took it over, in their order


class JournalStore(Protocol):
    """Keeps the journal. Whatever cannot be written raises OSError; everything may block for a moment.

    Where `waits` is true, lines are certain to be there once `settle` has been awaited; elsewhere they are at once.
    """

    @property
    def waits(self) -> bool: ...
    async def ready(self) -> None: ...
    async def settle(self) -> None: ...
    def begin(self, line: bytes) -> Mark: ...
    def append(self, lines: bytes) -> None: ...
    def spoil(self, mark: Mark) -> None: ...
    def keep(self, beginning: bytes, data: bytes) -> Place: ...
    def load_key(self) -> bytes: ...
    def fetch(self, place: Place) -> bytes: ...
    def take(self, owner: Owner, run: str, heir: str, number: int) -> bool:
        """Let another run go on from a run, under its next number, which is 2 for the first; False if it was taken.

        From then on nothing of the run is certain to be there that was not before.
        """

    def taken_by(self, run: str) -> str:
        """Return the run that has taken over one of this process; known once what this one has written is settled."""

    def read(self, owner: Owner, run: str) -> FoundRun | None: ...
    def read_events(self, owner: Owner, events: tuple[str, ...], *, most: int = MOST_RUNS) -> Iterator[bytes]:
        """Yield the lines of these events, at least those of the latest runs, so many."""

    def close(self) -> None: ...


class ChangeStore(Protocol):
    """Keeps the frames of runs, numbered from 0. Everything blocks, on whatever thread, and raises OSError."""

    def append(self, run: RunKey, number: int, frames: Sequence[bytes]) -> None:
        """Add frames, of which the first has this number; they are kept for certain when this returns."""

    def extend(self, run: RunKey, number: int, frame: bytes) -> bool:
        """Add a frame to those of a run that has ended; False if there are not as many as this number by now."""

    def read(self, run: RunKey, first: int, count: int) -> Iterator[bytes]:
        """Yield as many frames as there are of those that are wanted."""

    def finish(self, run: RunKey) -> None:
        """Let go of a run that has ended."""

    def forget(self, runs: Iterable[str]) -> None:
        """Remove what was kept of runs that the journal no longer has."""


def begin_line(owner: Owner, run: str = "") -> bytes:
    """Return how each line of an owner begins, or each line of one of its runs."""
    beginning = _begin_line(owner)
    return b'%b"run":%b,' % (beginning, json.dumps(run).encode("ascii")) if run else beginning


@lru_cache(maxsize=256)
def _begin_line(owner: Owner) -> bytes:
    return f'{{"principal":{json.dumps(owner.principal)},"project":{json.dumps(str(owner.project))},'.encode("ascii")


class Retention(NamedTuple):
    """How long something is kept, and how much of it."""

    keep_for: float  # seconds
    max_size: int  # bytes
    undo_size: int  # bytes of what calls have changed, as it was before


class Store(NamedTuple):
    """The parts of the store that an engine uses for its principal."""

    journal: JournalStore
    results: ResultFiles
    open_statistics: Callable[[], StatRows]  # loads what that needs
    audit: AuditRows
    kept_values: KeptNames
    kept_answers: KeptNames
    open_changes: Callable[[], ChangeStore]  # loads what that needs; the same one each time

    def close(self) -> None:
        """Let go of what is open; the backend is its owner's to close."""
        self.journal.close()


class PersonalStore(NamedTuple):
    """The parts of the store that belong to one person."""

    shelf: Shelf
    credentials: Credentials
