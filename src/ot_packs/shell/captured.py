"""The beginning and the end of a program's output, however much it prints."""

from __future__ import annotations


class Captured:
    """Keeps so many bytes, half of them from the beginning, half from the end."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def take(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        room = self._head_room - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._tail_room + 65_536:  # seldom: each time, what is kept is copied
            self._trim()

    @property
    def cut(self) -> bool:
        """True if something in the middle was left out."""
        return self.total > self._head_room + self._tail_room

    def text(self) -> str:
        """Return what was kept, with a line in the place of what was not."""
        self._trim()
        left_out = self.total - len(self._head) - len(self._tail)
        middle = f"\n… {left_out:,} bytes left out …\n" if left_out else ""
        return self._head.decode(errors="replace") + middle + self._tail.decode(errors="replace")

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_room)]
