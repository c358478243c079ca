"""Many rows of the same columns, kept column by column: code gets a list of dicts.

A hundred thousand rows are half a million values, and each would be looked at by everyone on its way to the code. Here
a column of numbers is bytes and a column of texts is one text, which others pass on whole.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

INTEGERS, FLOATS, TEXTS, VALUES = "q", "d", "s", "v"
MANY = 5_000  # values, from which on rows travel by column
_BREAK = "\n"  # between texts; a column with such a text is kept as values

Column = tuple[str, bytes | str | list[object]]  # its kind; numbers as bytes, texts as one text, other values as a list


class Rows:
    """Rows by column; only a kernel makes rows of it."""

    __slots__ = ("columns", "count", "names")

    def __init__(self, names: Sequence[str], columns: Sequence[Column], count: int) -> None:
        self.names = list(names)
        self.columns = list(columns)
        self.count = count

    def __repr__(self) -> str:
        return f"<{self.count:,} rows of {', '.join(self.names)}>"

    def changed(self, change: Callable[[Any], Any]) -> Rows:
        """Return them with every text passed through a function, several at once; itself if nothing changes."""
        names = [change(name) for name in self.names]
        columns = [(kind, content if kind in (INTEGERS, FLOATS) else change(content)) for kind, content in self.columns]
        if names == self.names and all(new is old for (_, new), (_, old) in zip(columns, self.columns, strict=True)):
            return self
        return Rows(names, columns, self.count)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the rows; raises ValueError where the columns do not fit together."""
        names = self.names
        if not names:
            return []
        collecting = gc.isenabled()
        gc.disable()  # it would look through the rows again and again while they are made
        try:
            columns = [_unpacked(kind, content) for kind, content in self.columns]
            if any(len(column) != self.count for column in columns):
                raise ValueError("columns of different lengths")
            return [dict(zip(names, row)) for row in zip(*columns, strict=True)]  # noqa: B905 - as many, once and for all
        finally:
            if collecting:
                gc.enable()


def pack_rows(value: Any) -> Rows | None:
    """Keep a long list of dicts with the same names by column; None for anything else."""
    if type(value) is not list or not value or type(value[0]) is not dict:
        return None
    names = list(value[0])
    if len(value) * len(names) < MANY or "$" in value[0] or set(map(type, names)) != {str}:
        return None
    if set(map(type, value)) != {dict} or any(list(row) != names for row in value):
        return None
    columns = zip(*[row.values() for row in value])  # noqa: B905 - all have the same names
    return Rows(names, [pack_column(column) for column in columns], len(value))


def pack_column(values: Sequence[Any]) -> Column:
    """Keep a column in the smallest form that it has."""
    kinds = set(map(type, values))
    if kinds in ({int}, {float}):
        from array import array  # noqa: PLC0415 - a kernel without rows does without

        kind = INTEGERS if kinds == {int} else FLOATS
        try:
            return kind, array(kind, values).tobytes()
        except OverflowError:
            return VALUES, list(values)
    if kinds == {str}:
        text = _BREAK.join(values)
        if text.count(_BREAK) == len(values) - 1:
            return TEXTS, text
    return VALUES, list(values)


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
