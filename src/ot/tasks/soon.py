"""Work that no answer waits for, such as lines that are written later with others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SOON = 0.02  # seconds


def soon(work: Callable[[], object]) -> None:
    """Do something in a moment, on the event loop that runs now."""
    asyncio.get_running_loop().call_later(SOON, work)
