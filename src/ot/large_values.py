"""Values that take noticeable time to look through: that is done on a thread, so that others are answered meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread

MOST = 5000  # items, each of which takes about a microsecond a time
LARGE_MESSAGE = 64 * 1024  # bytes of JSON, which may be as many items
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})

Made = TypeVar("Made")


def is_large(value: Any) -> bool:
    """Whether there are more items in it than should be looked at while others wait; also true of one in a circle."""
    if type(value) not in _CONTAINERS:
        return False
    items = 0
    inside = [value]
    while inside and items <= MOST:
        container = inside.pop()
        items += len(container)
        if items <= MOST:
            parts = container.values() if type(container) is dict else container
            inside += [part for part in parts if type(part) in _CONTAINERS]
    return items > MOST


async def aside(function: Callable[..., Made], *arguments: Any) -> Made:
    """Do something that has no effect but its result on a thread; whoever is cancelled does not wait for it."""
    return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)
