"""Utterances that wait to be answered: a few, and the oldest gives way."""

from __future__ import annotations

from collections import deque

import anyio

from ot_voice.audio import Utterance


class WaitingUtterances:
    """A queue of at most `limit` utterances, for one task that puts and one that takes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[Utterance] = deque()
        self._changed = anyio.Event()
        self._closed = False

    def put(self, utterance: Utterance) -> Utterance | None:
        """Add one; return the oldest if there were too many."""
        dropped = self._items.popleft() if len(self._items) >= self._limit else None
        self._items.append(utterance)
        self._notify()
        return dropped

    async def wait_for_room(self) -> None:
        """Return when one more can be put without losing another."""
        while len(self._items) >= self._limit:
            await self._changed.wait()

    async def take(self) -> Utterance | None:
        """Take the oldest; None when no more will come."""
        while not self._items:
            if self._closed:
                return None
            await self._changed.wait()
        taken = self._items.popleft()
        self._notify()
        return taken

    def close(self) -> None:
        """No more will be put; those that wait can still be taken."""
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
