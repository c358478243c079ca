"""How many kernels one of many people may hold at once, so that the others find some."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio


class _Share:
    def __init__(self, most: int) -> None:
        self.places = anyio.Semaphore(most)
        self.users = 0  # who have one of the places, or wait for one


class KernelQuota:
    """A person who has used up their share waits until one of their own runs ends."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._shares: dict[Hashable, _Share] = {}

    @property
    def waiting(self) -> int:
        return sum(share.places.statistics().tasks_waiting for share in list(self._shares.values()))

    @asynccontextmanager
    async def take(self, holder: Hashable, most: int = 0) -> AsyncIterator[None]:
        """Take one place of a person's share, which has as many as usual, or `most` where that is more."""
        share = self._shares.setdefault(holder, _Share(max(self._most, most)))
        share.users += 1
        try:
            async with share.places:
                yield
        finally:
            share.users -= 1
            if not share.users:
                del self._shares[holder]
