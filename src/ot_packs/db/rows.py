"""Rows on their way out of a database: names that are unique, and as many as the limits allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

_FIRST_CHUNK = 64  # rows; after that as many as a chunk of bytes holds
_MOST_IN_CHUNK = 10_000
_CHUNK_BYTES = 4 * 1024 * 1024
_TEXTS = frozenset({str, bytes})
_SMALL = frozenset({int, float, bool, type(None)})

Row = Sequence[Any]
"""The values of one row, which pass through unread."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of rows, and of their bytes, that a call may return."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StatementRows:
    """The result of a statement: its columns, its rows up to the limits, and the number of changed rows."""

    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    more: bool = False
    cut_by: str = ""  # "rows" or "bytes", where there is more
    changed: int | None = None


class GivenRows(TypedDict):
    """The rows of a statement on their way out of the helper process: few as dicts, many `packed` by column."""

    columns: list[str]
    rows: list[dict[str, object]]
    packed: list[tuple[str, bytes | str | list[object]]]
    count: int
    more: bool
    cut_by: str
    changed: int | None


def collect(columns: Iterable[str], fetch: Callable[[int], Sequence[Row]], limits: Limits) -> StatementRows:
    """Fetch rows in chunks, `fetch(n)` gives at most n of them, until they end or a limit is reached."""
    names = unique(columns)
    rows: list[Row] = []
    size, chunk = 0, _FIRST_CHUNK
    while len(rows) <= limits.rows:
        wanted = min(chunk, limits.rows + 1 - len(rows))
        part = fetch(wanted)
        rows += part
        added = size_of(part)
        size += added
        if size > limits.bytes:
            return _cut_to_bytes(names, rows, limits)
        if len(part) < wanted:
            return StatementRows(names, rows)
        chunk = max(1, min(_MOST_IN_CHUNK, _CHUNK_BYTES * len(part) // max(1, added)))
    return StatementRows(names, rows[: limits.rows], more=True, cut_by="rows")


def _cut_to_bytes(names: list[str], rows: list[Row], limits: Limits) -> StatementRows:
    size = 0
    for count, row in enumerate(rows):
        size += size_of([row])
        if size > limits.bytes or count >= limits.rows:
            return StatementRows(names, rows[:count], more=True, cut_by="bytes" if size > limits.bytes else "rows")
    return StatementRows(names, rows)


def size_of(rows: Sequence[Row]) -> int:
    """Estimate the bytes of rows: texts by their length, what has parts by how it is written, the rest by eight."""
    size = 0
    for column in zip(*rows, strict=True):
        size += 8 * len(column)
        kinds = set(map(type, column))
        if kinds <= _TEXTS:
            size += sum(map(len, column))
        elif not kinds <= _SMALL:
            size += sum(map(_length, column))
    return size


def _length(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return len(repr(value)) if isinstance(value, list | tuple | dict) else 0


def unique(columns: Iterable[str]) -> list[str]:
    """Give every column a name of its own: the second `id` is `id_2`."""
    names: list[str] = []
    taken: set[str] = set()
    for name in columns:
        number, new = 1, name or "column"
        while new in taken:
            number += 1
            new = f"{name or 'column'}_{number}"
        taken.add(new)
        names.append(new)
    return names
