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
        self._standing = 0
        self._room: asyncio.Event | None = None

    def add(self, size: int) -> None:
        """Count one more question."""
        self._waiting += 1
        self._standing += size
        if self._waiting > MAX_WAITING or self._standing > MAX_STANDING:
            self._kernel.hold(held=True)

    def remove(self, size: int) -> None:
        """Forget a question that was counted, as it is answered."""
        self._waiting -= 1
        self._standing -= size
        if self._standing <= MAX_STANDING:
            if self._room is not None:
                self._room.set()
            if self._waiting <= MAX_WAITING:
                self._kernel.hold(held=False)

    async def room(self) -> None:
        """Wait until what stands here leaves room for more."""
        while self._standing > MAX_STANDING:
            self._room = asyncio.Event()
            await self._room.wait()
