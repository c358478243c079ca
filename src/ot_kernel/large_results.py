"""Results too large to show: the whole goes into a file; its head and its size cross to the server.

Attachments, such as images, count for nothing here and cross with the head.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ot_kernel.stored_form import LISTS, kind_of, write_form
from ot_kernel.values import MAX_NUMBER, Encoded, Record
from ot_kernel.wire import Message

MAX_RESULT = 1024 * 1024  # of text: more than that never crosses in a message, whatever an answer may show
ORDINARY = 20_000  # characters that an answer shows, where the server does not say
HEAD = 4_000  # for a preview
_MARGIN = 4  # a value may measure so many times its text; what may be shown crosses, and the server sees
_QUOTES, _NUMBER = 2, 8  # what text takes beside its length, and anything else; exactness would cost too much
_NUMBERS = frozenset({"int", "fraction", "decimal"})
_ATTACHMENTS = frozenset({"image", "audio", "resource"})

_Item = TypeVar("_Item")


def set_apart(encoded: Encoded, *, limit: int, write_file: Callable[[Iterable[bytes]], str]) -> Message | None:
    """Return None if an answer of `limit` characters may show the result; else the message about its file.

    Where the file cannot be written (it is larger than a run's file may be, there is no room) the head crosses alone.
    """
    if fits(encoded, min(limit * _MARGIN, MAX_RESULT)):
        return None
    head, total = _Head().take(encoded), _count(encoded)
    try:
        name = write_file(write_form(encoded))
    except OSError as error:
        return {"op": "value", "value": head, "total": total, "not_kept": error.strerror or "it cannot be written"}
    return {"op": "large", "name": name, "kind": kind_of(encoded), "head": head, "total": total}


def fits(encoded: object, size: int) -> bool:
    """True if a value is small; looks at no more of it than it takes to tell. Numbers that are too long never cross."""
    left, waiting = size, [encoded]
    while waiting and left >= 0:
        item = waiting.pop()
        left -= _size_of(item)
        if isinstance(item, list | dict) and len(item) > left:
            return False
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict) and item.get("$") not in _ATTACHMENTS:
            if item.get("$") in _NUMBERS and _is_long(item["v"]):
                return False
            waiting.extend(item)
            waiting.extend(item.values())
    return left >= 0


def _is_long(number: Any) -> bool:
    return any(len(part) > MAX_NUMBER for part in (number if isinstance(number, list) else (number,)))


def _size_of(item: object) -> int:
    return len(item) + _QUOTES if isinstance(item, str) else _NUMBER


def _count(encoded: Any) -> int:
    """Count the items, or the characters, of the whole."""
    match encoded:
        case {"$": "record", "v": [_, fields]}:
            return len(fields)
        case {"$": "bytes", "v": str(text)}:
            return len(text) // 4 * 3 - text[-2:].count("=")
        case {"$": _, "v": str() | list() as content}:
            return len(content)
    return len(encoded)


class _Head:
    """The beginning of a value, as a value of the same kind where it has one."""

    def __init__(self) -> None:
        self._left = HEAD

    def take(self, encoded: Encoded) -> Encoded:
        """Return as much of it as there is room for."""
        if isinstance(encoded, str):
            return self._take_text(encoded)
        self._left -= _NUMBER
        if isinstance(encoded, list):
            return [self.take(item) for item in self._while_room(encoded)]
        if not isinstance(encoded, dict):
            return encoded
        if "$" in encoded:
            return self._take_tagged(str(encoded["$"]), encoded["v"])
        return self._take_fields(encoded)

    def _take_fields(self, fields: dict[str, Encoded]) -> dict[str, Encoded]:
        head: dict[str, Encoded] = {}
        for key, item in self._while_room(fields.items()):
            self._left -= _size_of(key)
            if self._left >= 0:
                head[key] = self.take(item)
        return head

    def _take_tagged(self, tag: str, content: Any) -> Encoded:
        if tag == "dict":
            return {"$": tag, "v": [[key, self.take(item)] for key, item in self._while_room(content)]}
        if tag in LISTS:
            return {"$": tag, "v": self.take(content)}
        if tag == "record":
            return {"$": tag, "v": [content[0], self.take(content[1])]}
        if tag in _ATTACHMENTS:
            return {"$": tag, "v": content}
        text = content if isinstance(content, str) else json.dumps(content)
        if len(text) <= self._left:
            self._left -= len(text)
            return {"$": tag, "v": content}
        if tag == "bytes":
            return {"$": tag, "v": self._take_text(text[: max(0, self._left) // 4 * 4])}
        return self._take_text(text)

    def _take_text(self, text: str) -> str:
        head = text[: max(0, self._left)]
        self._left -= _size_of(head)
        return head

    def _while_room(self, items: Iterable[_Item]) -> Iterator[_Item]:
        for item in items:
            if self._left <= 0:
                return
            yield item


KEEP = "ot.keep"
_VALUE = "value"
_MOST_IN_MESSAGE = 64 * 1024  # about as many characters; the server would decode what is larger for nothing


def find_value(args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Return the value that a call of `ot.keep` is to keep; None if it was given none."""
    return kwargs[_VALUE] if _VALUE in kwargs else args[1] if len(args) > 1 else None


def put_aside(message: Message, value: object, write_file: Callable[[Iterable[bytes]], str]) -> str | None:
    """Write a large value to a file that the message names in its place, and return that name. Raises OSError."""
    args, kwargs = message["args"], message["kwargs"]
    by_name = _VALUE in kwargs
    encoded = kwargs[_VALUE] if by_name else args[1] if len(args) > 1 else None
    if fits(encoded, _MOST_IN_MESSAGE):
        return None
    what = value.record_name if isinstance(value, Record) else type(value).__name__
    name = write_file(write_form(encoded))
    message["written"] = {"file": name, "kind": kind_of(encoded), "what": what}
    if by_name:
        del kwargs[_VALUE]
    else:
        del args[1]
    return name
