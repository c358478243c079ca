"""Waits before an overloaded provider is asked again, and when to give up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from mcp_core.backoff import wait_after
from mcp_core.quick_dataclass import dataclass
from ot.errors import ModelUnavailableError


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double, with some randomness, so that clients that failed together do not return together."""

    retries: int
    first: float = 0.5  # seconds
    longest: float = 30.0
    patience: float = 120.0  # the longest wait that a provider may ask for
    chance: Callable[[], float] = random.random
    left: Callable[[], float] = lambda: math.inf  # seconds until nobody waits for an answer any more

    def wait_after(self, attempt: int, error: ModelUnavailableError) -> float | None:
        """Return the seconds until the next attempt, or None if there is none; `attempt` counts from 1."""
        if attempt > self.retries or (error.retry_after or 0.0) > self.patience:
            return None
        wait = wait_after(attempt, first=self.first, longest=self.longest, spread=0.25, chance=self.chance)
        if error.retry_after is not None:
            wait = max(error.retry_after, 0.0)
        return wait if wait < self.left() else None
