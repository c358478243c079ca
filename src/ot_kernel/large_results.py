"""A result too large to show: only its head crosses, and how much there was.

What a client shows by itself, such as an image, counts for nothing here and crosses whole.
"""

from __future__ import annotations

import json
from typing import Any

from ot_kernel.wire import Message

MAX_RESULT = 512 * 1024  # of text; far more than any answer shows
_HEAD_TEXT = 100_000
_NUMBER = 8  # what one counts for; exactness would cost more than it is worth
_ATTACHMENTS = frozenset({"image", "audio", "resource"})
_COLLECTIONS = frozenset({"tuple", "set", "frozenset", "dict"})


def take_head(encoded: Any) -> Message | None:
    """None for a result of ordinary size; else the message that carries its head."""
    if _Budget(MAX_RESULT).covers(encoded):
        return None
    head, total = _head_of(encoded)
    return {"op": "value", "value": head, "total": total}


def _head_of(encoded: Any) -> tuple[Any, int]:
    """The beginning of a value as a value of the same kind, and how many items or characters there were."""
    budget = _Budget(_HEAD_TEXT)
    match encoded:
        case {"$": str(tag), "v": list(items)} if tag in _COLLECTIONS:
            return {"$": tag, "v": budget.take(items)}, len(items)
        case {"$": "record", "v": [str(name), dict(fields)]}:
            return {"$": "record", "v": [name, budget.take(fields)]}, len(fields)
        case {"$": "bytes", "v": str(text)}:
            return {"$": "bytes", "v": text[:_HEAD_TEXT]}, len(text) * 3 // 4
        case {"$": _, "v": str(text)}:
            return text[:_HEAD_TEXT], len(text)
        case {"$": _}:
            text = json.dumps(encoded)
            return text[:_HEAD_TEXT], len(text)
    return budget.take(encoded), len(encoded)


class _Budget:
    """How much of a value still fits."""

    def __init__(self, size: int) -> None:
        self._left = size

    def covers(self, encoded: Any) -> bool:
        """Whether a value fits; stops as soon as it does not."""
        waiting = [encoded]
        while waiting and self._left >= 0:
            item = waiting.pop()
            self._pay(item)
            if isinstance(item, list):
                waiting.extend(item[: self._left + 1])
            elif isinstance(item, dict) and item.get("$") not in _ATTACHMENTS:
                waiting.extend(item)
                waiting.extend(item.values())
        return self._left >= 0

    def _pay(self, item: Any) -> None:
        self._left -= len(item) if isinstance(item, str) else _NUMBER

    def take(self, encoded: Any) -> Any:
        """As much of a value as fits: text is cut, and so are lists and dicts; a tagged value is left whole."""
        if isinstance(encoded, str):
            text = encoded[: max(0, self._left)]
            self._pay(text)
            return text
        self._pay(encoded)
        if isinstance(encoded, list):
            return [self.take(item) for item in self._affordable(encoded)]
        if isinstance(encoded, dict):
            return self._take_fields(encoded)
        return encoded

    def _take_fields(self, encoded: dict[str, Any]) -> dict[str, Any]:
        if "$" in encoded:
            if encoded["$"] not in _ATTACHMENTS:
                self._left -= len(json.dumps(encoded))
            return encoded
        fields = {}
        for key in self._affordable(encoded):
            self._pay(key)
            fields[key] = self.take(encoded[key])
        return fields

    def _affordable(self, items: Any) -> Any:
        for item in items:
            if self._left <= 0:
                return
            yield item
