"""Many rows of the same columns, kept column by column: code gets a list of dicts, or of lists.

A hundred thousand rows are half a million values, and each would be looked at by everyone on its way. Here a column of
numbers is bytes and a column of texts is one text, which others pass on whole.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

INTEGERS, FLOATS, TEXTS, VALUES = "q", "d", "s", "v"
_BREAK = "\n"  # between texts; a column with such a text is kept as values
_NUMBER = 8  # bytes

Column = tuple[str, bytes | str | list[object]]  # its kind; numbers as bytes, texts as one text, other values as a list


class Rows:
    """Rows by column: dicts with these names or, without names, lists."""

    __slots__ = ("columns", "count", "names")

    def __init__(self, names: Sequence[str] | None, columns: Sequence[Column], count: int) -> None:
        self.names = None if names is None else list(names)
        self.columns = list(columns)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<{self.count:,} rows of {', '.join(self.names or [f'{len(self.columns)} values'])}>"

    def check(self) -> None:
        """Raise ValueError where names, columns and their lengths do not fit together."""
        width = len(self.columns)
        if not width or (self.names is not None and len(set(self.names)) != width):
            raise ValueError("rows without a name for each column")
        if type(self.count) is not int or any(_length(kind, content) != self.count for kind, content in self.columns):
            raise ValueError("columns of different lengths")

    def changed(self, change: Callable[[Any], Any]) -> Rows:
        """Return them with every text passed through a function, several at once; itself if nothing changes."""
        names = None if self.names is None else [change(name) for name in self.names]
        columns = [(kind, content if kind in (INTEGERS, FLOATS) else change(content)) for kind, content in self.columns]
        if names == self.names and all(new is old for (_, new), (_, old) in zip(columns, self.columns, strict=True)):
            return self
        return Rows(names, columns, self.count)

    def unpacked(self) -> list[list[Any]]:
        """Return the values of each column."""
        return [_unpacked(kind, content) for kind, content in self.columns]

    def to_list(self) -> list[Any]:
        """Return the rows; raises ValueError where the columns do not fit together."""
        self.check()
        names = self.names
        collecting = gc.isenabled()
        gc.disable()  # it would look through the rows again and again while they are made
        try:
            rows = zip(*self.unpacked(), strict=True)
            if names is None:
                return list(map(list, rows))
            return [dict(zip(names, row)) for row in rows]  # noqa: B905 - as many, once and for all
        finally:
            if collecting:
                gc.enable()


def pack_rows(value: list[Any]) -> Rows | None:
    """Keep a list of dicts with the same names, or of lists of the same length, by column; None for anything else.

    The names are in the order of the first dict.
    """
    first = value[0]
    kind = type(first)
    if kind not in (dict, list) or set(map(type, value)) != {kind} or set(map(len, value)) != {len(first)}:
        return None
    if kind is list:
        return Rows(None, [pack_column(column) for column in zip(*value)], len(value))  # noqa: B905 - of one length
    if "$" in first or set(map(type, first)) != {str}:
        return None
    try:
        return Rows(first, [pack_column(list(map(itemgetter(name), value))) for name in first], len(value))
    except KeyError:
        return None


def pack_column(values: Sequence[Any]) -> Column:
    """Keep a column in the smallest form that it has."""
    kinds = set(map(type, values))
    if kinds in ({int}, {float}):
        from array import array  # noqa: PLC0415 - a kernel without rows does without

        kind = INTEGERS if kinds == {int} else FLOATS
        try:
            return kind, array(kind, values).tobytes()
        except OverflowError:
            pass
    if kinds == {str}:
        text = _BREAK.join(values)
        if text.count(_BREAK) == len(values) - 1:
            return TEXTS, text
    return VALUES, list(values)


def _length(kind: str, content: Any) -> int:
    if kind == TEXTS:
        return int(content.count(_BREAK)) + 1
    return len(content) if kind == VALUES else len(content) // _NUMBER if len(content) % _NUMBER == 0 else -1


def _unpacked(kind: str, content: Any) -> list[Any]:
    if kind == TEXTS:
        texts: list[Any] = content.split(_BREAK)
        return texts
    if kind == VALUES:
        return list(content)
    from array import array  # noqa: PLC0415 - a kernel without rows does without

    numbers: array[Any] = array({INTEGERS: "q", FLOATS: "d"}[kind])
    numbers.frombytes(content)
    return numbers.tolist()
