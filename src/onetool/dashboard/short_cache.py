"""A cache of values that take long to compute, each for a time that grows with that."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

Value = TypeVar("Value")

_SHORTEST = 0.5  # seconds that a value is kept at least
_SHARE = 10  # how many times longer than its computation a value is kept
_MOST = 256


class _Entry(Generic[Value]):
    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.expires = 0.0
        self.value: Value | None = None


class ShortCache(Generic[Value]):
    """Keeps each value for a time that grows with the cost of computing it; concurrent requests compute it once."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[Hashable, _Entry[Value]] = {}

    async def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key; `compute` runs on a thread, and may block."""
        entry = self._entries.pop(key, None) or _Entry[Value]()
        self._entries[key] = entry  # as the latest
        while len(self._entries) > _MOST:
            del self._entries[next(iter(self._entries))]
        async with entry.lock:
            began = self._clock()
            if entry.value is None or began >= entry.expires:
                entry.value = await anyio.to_thread.run_sync(compute)
                took = self._clock() - began
                entry.expires = began + took + max(_SHORTEST, took * _SHARE)
            return entry.value
