"""Values that take noticeable time to look through: done on a thread, so that others are still answered."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import anyio.to_thread

from ot.values import OpaqueValue, Rows, ToolValue

MOST = 5000  # items, each of which takes about a microsecond a time
LARGE_MESSAGE = 64 * 1024  # bytes of JSON, which may be as many items
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})

Made = TypeVar("Made")
Given = TypeVarTuple("Given")


class FileValue(OpaqueValue):
    """A large value in a file. On delivery the file is passed on or read, on a thread."""

    __slots__ = ()

    def read(self) -> ToolValue:
        """Return the value itself; blocking. Raises ToolError where it cannot be read."""
        raise NotImplementedError


def is_large(value: Any) -> bool:
    """True if it has too many items to look at while others wait, contains itself, or is in a file."""
    if type(value) not in _CONTAINERS:
        return isinstance(value, FileValue)
    items = 0
    inside = [value]
    for container in inside:
        items += len(container)
        if items > MOST:
            return True
        parts = container.values() if type(container) is dict else container
        for part in parts:
            if type(part) in _CONTAINERS:
                inside.append(part)
            elif type(part) is Rows:
                return True
    return False


async def aside(function: Callable[[*Given], Made], *arguments: *Given) -> Made:
    """Call a function without side effects on a thread; a caller that is cancelled does not wait for it."""
    return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


async def make_many(function: Callable[[*Given], Made], *arguments: *Given) -> Made:
    """Call on a thread what makes so many objects that looking for garbage among them takes a fifth of the time."""

    def call() -> Made:
        collects = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments)
        finally:
            if collects:
                gc.enable()

    return await anyio.to_thread.run_sync(call)


async def aside_if_large(value: object, function: Callable[[*Given], Made], *arguments: *Given) -> Made:
    """Do something that looks through `value`: on a thread if that takes long, else here and now."""
    if not is_large(value):
        return function(*arguments)
    if isinstance(value, FileValue):  # it is copied, and a copy that nobody waits for would be left behind
        return await anyio.to_thread.run_sync(function, *arguments)
    return await aside(function, *arguments)
