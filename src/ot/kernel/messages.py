"""Messages of a kernel as they came: how much they will take, and reading those that take long."""

from __future__ import annotations

import gc

from ot_kernel.wire import Message, WireError, unpack

MAX_ITEMS = 500_000  # reading more would keep the interpreter, and so every other client, for a second
_ITEM = 64  # bytes that the smallest of values takes, once it is read


def count_items(payload: bytes) -> int:
    """Return how many values a text of JSON may hold at most, without reading it."""
    marks = _count_marks(payload)
    if marks <= MAX_ITEMS:
        return marks
    unescaped = payload.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = unescaped.count(b'"') // 2
    return strings if strings > MAX_ITEMS else _count_marks(b"".join(unescaped.split(b'"')[::2]))


def _count_marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def weigh(payload: bytes) -> int:
    """Return about how many bytes a large message takes, as it came and as it was read."""
    return len(payload) + _ITEM * count_items(payload)


def read_large(payload: bytes) -> Message:
    """Read a large message; raises WireError, also for one that would take too long."""
    if count_items(payload) > MAX_ITEMS:
        raise WireError(f"a message of more than {MAX_ITEMS:,} values")
    gc.disable()  # it would look through the values again and again while they are made; nothing else runs meanwhile
    try:
        return unpack(payload)
    finally:
        gc.enable()
