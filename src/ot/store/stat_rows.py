"""The part of a store that has the rows of statistics for all replicas, as `ot.stats` makes and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

Row: TypeAlias = tuple[object, ...]


class StatBatch(NamedTuple):
    """Rows by table, with their columns in the order of the tables of `ot.stats.database`."""

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
    """The rows of one principal. Every method blocks, and raises OSError where the store cannot be used."""

    @property
    def place(self) -> str: ...
    def add(self, batch: StatBatch) -> None: ...
    def prune(self, before: float) -> None: ...
    def read(self, since: float) -> StatBatch: ...
