"""The output of programs: its records, its beginning and end, and the last words of one that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_core.visible_text import visible

_MOST = 1000  # characters in all


class Records:
    """Splits what is fed to it; a record longer than `longest` bytes loses the rest."""

    def __init__(self, end: bytes, *, longest: int) -> None:
        self._end, self._longest = end, longest
        self._begun = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the records that are complete, without their ends."""
        first, *others = data.split(self._end)
        self._begun = (self._begun + first)[: self._longest] if len(self._begun) < self._longest else self._begun
        for each in others:
            yield self._begun
            self._begun = each[: self._longest]

    def rest(self) -> bytes:
        """Return what came after the last end."""
        return self._begun


def said(stderr: str) -> str:
    """Return the end of what a program wrote to stderr as one line, with nothing invisible in it."""
    lines = [re.sub(r"^(?:fatal|error|hint|warning|rg): ", "", line).strip() for line in stderr.splitlines()]
    return "; ".join(visible(line)[:300] for line in lines if line)[-_MOST:]  # characters of a line


class Captured:
    """Keeps so many bytes, half of them from the beginning, half from the end."""

    def __init__(self, limit: int) -> None:
        self._head_room, self._tail_room = limit - limit // 2, limit // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0

    def take(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_room - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._tail_room + 65_536:  # seldom: each time, what is kept is copied
            self._trim()

    @property
    def cut(self) -> bool:
        return self.total > self._head_room + self._tail_room

    def text(self) -> str:
        """Return what was kept, with a line in the place of what was not."""
        self._trim()
        left_out = self.total - len(self._head) - len(self._tail)
        middle = f"\n… {left_out:,} bytes left out …\n" if left_out else ""
        return self._head.decode(errors="replace") + middle + self._tail.decode(errors="replace")

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_room)]
