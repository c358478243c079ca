"""A result too large to show: only its head crosses, and how much there was."""

from __future__ import annotations

import json
from typing import Any

from ot_kernel.wire import Message

MAX_RESULT = 512 * 1024  # of JSON; far more than any answer shows
_HEAD_ITEMS = 1_000
_HEAD_TEXT = 100_000


def take_head(encoded: Any) -> Message | None:
    """None for a result of ordinary size; else the message that carries its head."""
    size = _size_of(encoded)
    if size <= MAX_RESULT:
        return None
    head: Any = _head_of(encoded)
    if _size_of(head) > MAX_RESULT:
        head = json.dumps(encoded)[:_HEAD_TEXT]
    total = len(encoded) if isinstance(encoded, str | list | dict) else size
    return {"op": "value", "value": head, "total": total}


def _head_of(encoded: Any) -> Any:
    if isinstance(encoded, str):
        return encoded[:_HEAD_TEXT]
    if isinstance(encoded, list):
        return encoded[:_HEAD_ITEMS]
    if isinstance(encoded, dict) and "$" not in encoded:
        return dict(list(encoded.items())[:_HEAD_ITEMS])
    return encoded


def _size_of(encoded: Any) -> int:
    """Bytes as JSON, without writing them where the type already tells."""
    if isinstance(encoded, str):
        return len(encoded)
    if not isinstance(encoded, list | dict):
        return 0
    return sum(len(part) for part in json.JSONEncoder().iterencode(encoded))
