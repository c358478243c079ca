"""Looks at folders: their content is read once at the start, and again when it may have changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

INTERVAL = 1.0  # seconds between two looks
PATIENCE = 5.0  # seconds that one may take: a folder on a network may not answer, and runs do not depend on it

Look = TypeVar("Look")


class Looks(Generic[Look]):
    """`look` blocks, and gives None where nothing has changed; `apply` makes what it saw count, in one step."""

    def __init__(
        self,
        look: Callable[[], Look | None],
        apply: Callable[[Look], None],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._apply = apply
        self._patience = patience
        self._clock = clock
        self._next = 0.0
        self._looking = anyio.Lock()

    def load(self) -> None:
        """Look now; blocking."""
        look = self._look()
        if look is not None:
            self._apply(look)
        self._next = self._clock() + INTERVAL

    async def catch_up(self, *, at_once: bool = False) -> None:
        """Look without blocking others, at most once a second, and at no cost in between; `at_once` in any case."""
        if not at_once and self._clock() < self._next:
            return
        async with self._looking:
            if not at_once and self._clock() < self._next:
                return
            look: Look | None = None
            with anyio.move_on_after(self._patience) as limit:
                look = await anyio.to_thread.run_sync(self._look, abandon_on_cancel=True)
            if look is not None:
                self._apply(look)
            self._next = self._clock() + (10 * self._patience if limit.cancelled_caught else INTERVAL)
