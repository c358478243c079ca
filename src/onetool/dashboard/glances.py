"""Glances: what was seen a moment ago, for everybody who looks again too soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

Seen = TypeVar("Seen")

_SHORTEST = 0.5  # seconds between two looks
_SHARE = 10  # looking takes at most one of so many seconds
_MOST = 256


class _Glance(Generic[Seen]):
    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.until = 0.0
        self.seen: Seen | None = None


class Glances(Generic[Seen]):
    """Keeps what was seen for a while that grows with what it takes to look; however many pages ask, one looks."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._glances: dict[Hashable, _Glance[Seen]] = {}

    async def take(self, key: Hashable, look: Callable[[], Seen]) -> Seen:
        """Return what is seen; `look` blocks, on a thread."""
        glance = self._glances.pop(key, None) or _Glance[Seen]()
        self._glances[key] = glance  # as the latest
        while len(self._glances) > _MOST:
            del self._glances[next(iter(self._glances))]
        async with glance.turn:
            began = self._clock()
            if glance.seen is None or began >= glance.until:
                glance.seen = await anyio.to_thread.run_sync(look)
                took = self._clock() - began
                glance.until = began + took + max(_SHORTEST, took * _SHARE)
            return glance.seen
