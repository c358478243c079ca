"""Coroutines of tests that have no event loop of their own, on a thread where no fixture of a wider scope has one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

T = TypeVar("T")


def run_apart(work: Callable[[], Awaitable[T]]) -> T:
    """Return what a coroutine returns."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(anyio.run, work).result()
