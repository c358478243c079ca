"""The part of a store that keeps the journal: lines are appended, large values lie beside them, a run is read back.

A line begins with its owner and its run, so that nothing is found by anybody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

from ot.store.owner import Owner

WHOLE, SPOILT = b'"whole":1', b'"whole":0'
"""The mark in a run's first line that all its lines are there, and the one that replaces it once a line was lost."""

Place: TypeAlias = tuple[str, int, int]
"""The place of a value that lies beside the lines: a file, an offset, and how many bytes."""


class Mark(NamedTuple):
    """The place at which the first line of a run says that nothing of the run was lost."""

    file: str
    offset: int


class FoundRun(NamedTuple):
    """The lines of a run, and whether the process that wrote them still writes."""

    lines: list[bytes]
    in_use: bool


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
    def read(self, owner: Owner, run: str) -> FoundRun | None: ...
    def read_events(self, owner: Owner, events: tuple[str, ...]) -> Iterator[bytes]: ...
    def close(self) -> None: ...


def begin_line(owner: Owner, run: str = "") -> bytes:
    """Return how each line of an owner begins, or each line of one of its runs."""
    beginning = _begin_line(owner)
    return b'%b"run":%b,' % (beginning, json.dumps(run).encode("ascii")) if run else beginning


@lru_cache(maxsize=256)
def _begin_line(owner: Owner) -> bytes:
    return f'{{"principal":{json.dumps(owner.principal)},"project":{json.dumps(str(owner.project))},'.encode("ascii")
