"""Waits between attempts at something that fails."""

from __future__ import annotations

import random
from collections.abc import Callable


def wait_after(
    failures: int, *, first: float, longest: float, spread: float = 0.0, chance: Callable[[], float] = random.random
) -> float:
    """Return the seconds to wait after so many failures in a row: `first` after one, doubled after each further one."""
    # `spread` is the share that chance may take away, so that clients that failed together do not return together.
    doublings = min(failures - 1, 60)  # more would overflow, after hours in which something failed again and again
    return min(first * 2.0**doublings, longest) * (1 - spread * chance())
