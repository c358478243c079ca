"""Stored results as lines, of a text or for each item of a value, decoded only where they are looked at; and as values.

What is stored is hostile: it came from a run's code. Whatever cannot be read is a ToolError.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from ot.errors import ToolError
from ot.results.stored_file import BLOCK, StoredFile
from ot.tasks.large_values import FileValue
from ot.text.output import render_lines
from ot.values import ToolValue
from ot_kernel.stored_form import TEXT, read_form
from ot_kernel.values import loads

LIGHT = 256 * 1024  # bytes of items that are decoded beside other work; more than that goes elsewhere
_AT_ONCE = 64  # items decoded together
_AS_LIST = (b'{"$":"tuple","v":[', b'{"$":"set","v":[', b'{"$":"frozenset","v":[')


class TooHeavyError(Exception):
    """Reading this takes long enough to keep others waiting."""


def read_value(stored: StoredFile) -> ToolValue:
    try:
        return read_form(stored.read_all(), stored.facts.kind)
    except ValueError as error:
        raise _unreadable(error) from error


def text_line(stored: StoredFile, start: int, size: int, *, column: int, width: int) -> tuple[str, int]:
    """A window of one line of a text, and how many characters the whole line has; the line may be of any size."""
    if size <= LIGHT:
        text = stored.read(start, size).decode("utf-8", "replace").removesuffix("\r")
        return text[column - 1 : column + width], len(text)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    length, pieces = 0, []
    for position in range(start, start + size, BLOCK):
        piece = decoder.decode(stored.read(position, min(BLOCK, start + size - position)))
        first, last = max(column - 1 - length, 0), max(column + width - length, 0)
        pieces.append(piece[first:last])
        length += len(piece)
    return "".join(pieces), length


def all_lines(stored: StoredFile) -> Iterator[str]:
    if stored.facts.kind == TEXT:
        for raw in io.BytesIO(stored.read_all()):
            yield raw.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
    else:
        yield from item_lines(stored, 0)


def item_lines(stored: StoredFile, first: int, *, light: bool = False) -> Iterator[str]:
    """The items of a value from number `first` on (0 is the first). With `light`, raises TooHeavyError in time."""
    facts = stored.facts
    if not facts.breaks:
        if light and facts.size > LIGHT:
            raise TooHeavyError
        yield from islice(render_lines(read_value(stored)), min(first, sys.maxsize), None)
        return
    opening, closing = _frame(stored)
    places = islice(stored.lines_from(first + 1), max(facts.lines - first, 0))
    weight = 0
    while batch := list(islice(places, _AT_ONCE)):
        weight += sum(size for _, size in batch)
        if light and weight > LIGHT:
            raise TooHeavyError
        yield from _render(opening, [stored.read(*place).removesuffix(b",") for place in batch], closing)


def _frame(stored: StoredFile) -> tuple[bytes, bytes]:
    """Return what opens and what closes a value; members of a set have no order but that of their lines."""
    start, size = next(stored.lines_from(0))
    opening = stored.read(start, size)
    last, length = next(stored.lines_from(stored.facts.breaks), (0, 0))
    return (b"[", b"]") if opening in _AS_LIST else (opening, stored.read(last, length))


def _render(opening: bytes, items: list[bytes], closing: bytes) -> list[str]:
    try:
        lines = list(render_lines(loads(opening + b",".join(items) + closing)))
    except ValueError as error:
        raise _unreadable(error) from error
    if len(lines) == len(items):
        return lines
    return [item.decode("ascii", "replace") for item in items]  # keys that are there twice, which no run's value has


def _unreadable(error: ValueError) -> ToolError:
    return ToolError(f"the stored result cannot be read: {str(error)[:200]}")


def read_items(value: StoredValue, first: int, most: int) -> tuple[list[ToolValue], int]:
    """Return items of a stored list from number `first` on, and how many it has; blocking. Raises ToolError.

    Only these are decoded, and fewer of them where they are large.
    """
    with _readable(value.file) as stored:
        facts = stored.facts
        if not facts.breaks:
            raise ToolError("this stored result is no list")
        opening, closing = _frame(stored)
        if not opening.endswith(b"["):
            raise ToolError("this stored result is no list")
        found: list[bytes] = []
        weight = 0
        for start, size in islice(stored.lines_from(first + 1), max(min(most, facts.lines - first), 0)):
            weight += size
            if found and weight > LIGHT:
                break
            found.append(stored.read(start, size).removesuffix(b","))
        try:
            items = loads(opening + b",".join(found) + closing)
        except ValueError as error:
            raise _unreadable(error) from error
        return list(items) if isinstance(items, list) else [], facts.lines


class StoredValue(FileValue):
    """The value of `ot.load`. A run gets it as a file, so that the server never decodes it; others call `read`."""

    __slots__ = ("file",)

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> ToolValue:
        with _readable(self.file) as stored:
            return read_value(stored)

    def size(self) -> int:
        """Return the bytes of its stored form; blocking. Raises ToolError."""
        with _readable(self.file) as stored:
            return stored.facts.size

    def copy_to(self, create: Callable[[], int]) -> str:
        """Put the stored form into the file that is created, and tell which kind it is; blocking. Raises ToolError."""
        with _readable(self.file) as stored:
            copy = create()
            try:
                stored.copy_to(copy)
            finally:
                os.close(copy)
            return stored.facts.kind


class WrittenValue(FileValue):
    """The argument of `ot.keep` where that is too large for a message; what its kernel says of it is not believed."""

    __slots__ = ("kind", "opened", "what")

    def __init__(self, opened: Callable[[], int], kind: str, what: str) -> None:
        self.opened = opened  # opens the file; raises RunRefusedError
        self.kind = kind  # of the stored form
        self.what = what  # the Python type of the value

    def read(self) -> ToolValue:
        with os.fdopen(self.opened(), "rb") as file:
            data = file.read()
        try:
            return read_form(data, self.kind)
        except ValueError as error:
            raise _unreadable(error) from error

    def __repr__(self) -> str:
        return f"<a {self.what[:60]}, too large to show>"


@contextmanager
def _readable(file: Path) -> Iterator[StoredFile]:
    try:
        with StoredFile(file) as stored:
            yield stored
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"the stored result cannot be read: {reason}") from OSError(reason)
