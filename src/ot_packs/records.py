"""Records of a stream: text that ends with one byte each, cut where a record is too long."""

from __future__ import annotations

from collections.abc import Iterator


class Records:
    """Splits what is fed to it; a record longer than `longest` bytes loses the rest."""

    def __init__(self, end: bytes, *, longest: int) -> None:
        self._end = end
        self._longest = longest
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
