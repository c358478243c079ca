"""Blocking work on a thread that ends soon after its call is cancelled: it asks between two steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

T = TypeVar("T")
Check = Callable[[], None]
"""Raises where the work is no longer wanted; to be called between two steps of it."""


class _StoppedError(Exception):
    """Nobody waits for this work any more."""


async def stoppable(work: Callable[[Check], T]) -> T:
    """Do blocking work on a thread; when this returns, cancelled or not, the work has ended."""
    stopped = threading.Event()
    ended = anyio.Event()

    def check() -> None:
        if stopped.is_set():
            raise _StoppedError

    def do() -> T:
        try:
            return work(check)
        finally:
            anyio.from_thread.run_sync(ended.set)

    try:
        return await anyio.to_thread.run_sync(do, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        stopped.set()
        with anyio.CancelScope(shield=True):
            await ended.wait()
        raise
