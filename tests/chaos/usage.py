"""What processes use, and whether it has grown."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

_ROOM = {
    "megabytes": (1.5, 60),
    "descriptors": (1.2, 30),
    "processes": (1.2, 8),
    "connections": (1.2, 8),
    "locks": (1, 0),
}
"""By how much each may have grown at the end: a factor, and so many more."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a service uses at one moment."""

    megabytes: float = 0  # proportional set size
    descriptors: int = 0
    processes: int = 0
    connections: int = 0  # to the database
    locks: int = 0  # that somebody waits for

    def grown_since(self, before: Usage) -> list[str]:
        grown = []
        for each in fields(self):
            factor, more = _ROOM[each.name]
            was, now = getattr(before, each.name), getattr(self, each.name)
            if now > was * factor + more:
                grown.append(f"{each.name} grew from {was:g} to {now:g}")
        return grown

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, each.name):.0f} {each.name}" for each in fields(self))


def measure(roots: Iterable[int], *, connections: int = 0, locks: int = 0) -> Usage:
    """Measure processes and all that they have started."""
    found = [*_tree(roots)]
    megabytes = sum(map(_size_of, found)) / 1024
    return Usage(megabytes, sum(map(_descriptors_of, found)), len(found), connections, locks)


def _tree(roots: Iterable[int]) -> Iterable[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(folder.name))
    left = [*roots]
    while left:
        yield (process := left.pop())
        left += children.get(process, ())


def _size_of(process: int) -> int:
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def _descriptors_of(process: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    return 0
