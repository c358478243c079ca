"""The part of a store that has the rows of statistics, as `ot.stats` makes and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:  # the start of a server needs no database
    import sqlite3

STATS_FILE = "stats.db"
Row: TypeAlias = tuple[object, ...]


class StatBatch(NamedTuple):
    """Rows by table, with their columns in the order of the tables of `embedded_statistics`."""

    runs: Sequence[Row]
    calls: Sequence[Row]
    models: Sequence[Row]


class RunSum(NamedTuple):
    """The runs of one person."""

    person: str
    runs: int
    failed: int


class CallSum(NamedTuple):
    """The calls of one person of one pack."""

    person: str
    pack: str
    calls: int
    failed: int
    seconds: float


class TeamSums(NamedTuple):
    """Sums of what everybody has used."""

    runs: Sequence[RunSum]
    calls: Sequence[CallSum]


class StatRows(Protocol):
    """The rows of one principal. Every method blocks; it raises DatabaseUnavailableError for a file of this machine,
    and OSError where the store that replicas share cannot be used."""

    @property
    def place(self) -> str:
        """Where they lie, for people to read."""

    def add(self, batch: StatBatch) -> None:
        """Add rows: all of them, or none."""

    def prune(self, before: float) -> None:
        """Remove rows from before a moment."""

    def look(self, since: float) -> AbstractContextManager[sqlite3.Connection]:
        """Give a database with the rows since a moment, as they are now; raises CallError."""

    def close(self) -> None:
        """Let go of what is open."""
