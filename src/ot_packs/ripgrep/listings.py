"""Files as ripgrep lists them, bounded while they are read: the first by name, or those with most matches."""

from __future__ import annotations

import os

from ot_packs.records import Records

_LONGEST = 8192  # bytes of a path


class FileReader:
    """Counts files, and keeps the first of them by their paths."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._kept: list[str] = []
        self._records = Records(b"\0", longest=_LONGEST)

    @property
    def paths(self) -> list[str]:
        """The first ones, in order."""
        return sorted(self._kept)[: self._limit]

    def take(self, data: bytes) -> bool:
        """Read a piece of the output of `--null`."""
        for record in self._records.feed(data):
            self.total += 1
            self._kept.append(os.fsdecode(record))
        if len(self._kept) > 2 * self._limit + 1000:
            self._kept = self.paths
        return True


class CountReader:
    """Adds up the matching lines of files, and keeps the files with most of them."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self.files = 0
        self._limit = limit
        self._kept: list[tuple[int, str]] = []  # less than nothing, so that the largest comes first
        self._path: bytes | None = None  # of the number that comes next
        self._paths = Records(b"\0", longest=_LONGEST)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The files with most matching lines, and how many those are."""
        return [(path, -count) for count, path in sorted(self._kept)[: self._limit]]

    def take(self, data: bytes) -> bool:
        """Read a piece of the output of `--count --null`: a path, a null character, a number, the end of a line."""
        for record in self._paths.feed(data):
            # Between two null characters: the number of one file, the end of its line, the path of the next.
            number, _, path = record.partition(b"\n") if self._path is not None else (b"", b"", record)
            self._note(number)
            self._path = path
        return True

    def end(self) -> None:
        """Read the last number: no null character comes after it."""
        self._note(self._paths.rest().partition(b"\n")[0])

    def _note(self, number: bytes) -> None:
        if self._path is None:
            return
        self.total += int(number)
        self.files += 1
        self._kept.append((-int(number), os.fsdecode(self._path)))
        if len(self._kept) > 2 * self._limit + 1000:
            self._kept = sorted(self._kept)[: self._limit]
