"""The part of a store that has results for all replicas; the files of a replica are then copies of what it has."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

MOST_GONE = 1000  # handles that are remembered after their results have gone
LAST_READERS = 60.0  # seconds that a result which was let go is still there; it goes first
HEADER = 512  # bytes at the beginning of a file that say what is in it


class ResultRow(NamedTuple):
    """A result of this owner: how its file begins, and when it goes or that it has gone."""

    handle: str
    header: bytes
    expires: float
    gone: bool


class ResultRows(Protocol):
    """The results of one owner. Every method blocks, and raises OSError where the store cannot be used."""

    def put(self, handle: str, file: Path, *, created: float, expires: float, max_size: int) -> None: ...
    def find(self, handle: str) -> ResultRow | None: ...
    def fetch(self, handle: str, descriptor: int) -> None: ...
    def let_go(self, handle: str, end: float) -> None: ...
    def all(self) -> list[ResultRow]: ...
