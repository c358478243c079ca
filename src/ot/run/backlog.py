"""The backlog of a run: what its kernel has asked, and what of it is still unanswered."""

from __future__ import annotations

import asyncio

from ot.kernel.kernel import Kernel

MAX_WAITING = 64  # calls, in progress or not begun yet
MAX_STANDING = 32 * 1024 * 1024  # bytes in them


class Backlog:
    """Counts questions and their bytes. While there are too many the kernel is not read, and has to wait."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiting = 0
        self._unread = 0  # bytes of messages that take long to read, and wait for that
        self._standing = 0  # bytes of questions that were read
        self._full = False
        self._room = asyncio.Event()
        self._room.set()

    def add_unread(self, size: int) -> None:
        """Count a message that is still to be read."""
        self._unread += size
        self._waiting += 1
        self._hold_or_go_on()

    def remove_unread(self, size: int) -> None:
        """Forget a message as it is read; what was asked in it is counted by itself."""
        self._unread -= size
        self._waiting -= 1
        self._hold_or_go_on()

    def add(self, size: int) -> None:
        """Count a question."""
        self._standing += size
        self._waiting += 1
        if self._full or self._waiting > MAX_WAITING or self._unread + self._standing > MAX_STANDING:
            self._hold_or_go_on()

    def remove(self, size: int) -> None:
        """Forget a question as it is answered."""
        self._standing -= size
        self._waiting -= 1
        if self._full:
            self._hold_or_go_on()

    def _hold_or_go_on(self) -> None:
        self._full = full = self._waiting > MAX_WAITING or self._unread + self._standing > MAX_STANDING
        self._kernel.hold(held=full)
        if self._standing > MAX_STANDING:
            self._room.clear()
        else:
            self._room.set()

    async def room(self) -> None:
        """Wait until enough of what was read is answered, so that more may be read."""
        if not self._room.is_set():
            await self._room.wait()
