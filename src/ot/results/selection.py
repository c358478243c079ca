"""Paths into a structure: `items[*].id`, `rows[-1]`, `rows[10:20]`, `["key with blanks"].name`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import EllipsisType
from typing import NamedTuple

from ot.errors import ToolError
from ot.values import ToolValue

_STEP = re.compile(
    r"""
      \.? \[ \s* (?:
          (?P<every> \* )
        | (?P<first> -?\d{1,18} )? \s* (?P<colon> : ) \s* (?P<last> -?\d{1,18} )?
        | (?P<index> -?\d{1,18} )
        | "(?P<double> (?: [^"\\] | \\. )* )"
        | '(?P<single> (?: [^'\\] | \\. )* )'
      ) \s* \]
    | \.? (?P<star> \* )
    | \.? (?P<name> [^\s.\[\]*"']+ )
    """,
    re.VERBOSE,
)
_KEYS_SHOWN = 20
_LONGEST = 1000


Step = str | int | slice | EllipsisType
"""A field of a mapping or record; an item of a list, negative from its end; some of its items; or, as `...`, all items
of a list or all values of a mapping, and what follows is asked of each."""


class Selected(NamedTuple):
    """The end of a path; `skipped` items under a `[*]` did not have what was asked of them."""

    value: ToolValue
    skipped: int = 0


def select(value: ToolValue, path: str) -> Selected:
    """Return what `path` leads to in a value; after a `[*]`, the list of all that were found. Raises ToolError."""
    return _Walk(path).follow(value, list(_parse(path)), 0)


def _parse(path: str) -> Iterator[tuple[int, Step]]:
    """Yield the steps of a path, each with the position at which it stands."""
    if len(path) > _LONGEST:
        raise ToolError(f"path: it has {len(path):,} characters; the maximum is {_LONGEST}")
    position = begin = 1 if path.startswith(("$.", "$[")) else 0  # `$` is the whole in other languages of paths
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None or (position > begin and found[0][0] not in ".["):
            raise ToolError(
                f"path: cannot read {path[position : position + 20]!r} at position {position + 1} of {path!r}; "
                'a path is written like items[*].id, rows[-1], rows[10:20] or ["a key"].name'
            )
        yield position, _step(found)
        position = found.end()


def _step(found: re.Match[str]) -> Step:
    if found["every"] or found["star"]:
        return ...
    if found["colon"]:
        return slice(_number(found["first"]), _number(found["last"]))
    if found["index"]:
        return int(found["index"])
    if found["name"]:
        return found["name"]
    quoted = found["double"] if found["double"] is not None else found["single"]
    return re.sub(r"\\(.)", r"\1", quoted or "")


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


class _Walk:
    def __init__(self, path: str) -> None:
        self._path = path

    def follow(self, value: ToolValue, steps: list[tuple[int, Step]], done: int) -> Selected:
        for number in range(done, len(steps)):
            position, step = steps[number]
            if isinstance(step, EllipsisType):
                return self._follow_each(self._members(value, position), steps, number + 1)
            value = self._take(value, step, position)
        return Selected(value)

    def _follow_each(self, members: list[ToolValue], steps: list[tuple[int, Step]], done: int) -> Selected:
        """Asked of each member; lists found under a further `[*]` become one. All of them failing is a mistake."""
        found: list[ToolValue] = []
        skipped = failed = 0
        problem: ToolError | None = None
        nested = any(step is ... for _, step in steps[done:])
        for member in members:
            try:
                each = self.follow(member, steps, done)
            except ToolError as error:
                problem = problem or error
                failed += 1
                continue
            skipped += each.skipped
            if nested and isinstance(each.value, list):
                found.extend(each.value)
            else:
                found.append(each.value)
        if problem is not None and failed == len(members):
            raise problem
        return Selected(found, skipped + failed)

    def _members(self, value: ToolValue, position: int) -> list[ToolValue]:
        if isinstance(value, Mapping):
            return list(value.values())
        if isinstance(value, list | tuple | set | frozenset):
            return list(value)
        raise self._mistake(position, f"has no items: it is {_describe(value)}")

    def _take(self, value: ToolValue, step: str | int | slice, position: int) -> ToolValue:
        if isinstance(step, str):
            return self._field(value, step, position)
        if isinstance(value, Mapping) and isinstance(step, int) and step in value:
            return next(member for key, member in value.items() if key == step)
        if not isinstance(value, list | tuple | str | bytes):
            raise self._mistake(position, f"is {_describe(value)}, which cannot be indexed")
        if isinstance(step, int) and not -len(value) <= step < len(value):
            raise self._mistake(position, f"has {len(value):,} items, and none at {step}")
        return value[step]

    def _field(self, value: ToolValue, name: str, position: int) -> ToolValue:
        if not isinstance(value, Mapping):
            hint = "; [*] goes through its items" if isinstance(value, list | tuple) else ""
            raise self._mistake(position, f"is {_describe(value)}, which has no field {name!r}{hint}")
        if name in value:
            return value[name]
        for key, member in value.items():
            if not isinstance(key, str) and str(key) == name:  # a date, a number: as it is shown
                return member
        keys = [str(key) for key in list(value)[:_KEYS_SHOWN]]
        more = f" ({_KEYS_SHOWN} of {len(value):,})" if len(value) > _KEYS_SHOWN else ""
        raise self._mistake(position, f"has no {name!r}; it has {', '.join(keys) or 'nothing'}{more}")

    def _mistake(self, position: int, what: str) -> ToolError:
        before = self._path[:position].rstrip(".") or "the result"
        return ToolError(f"path: {before} {what} (position {position + 1} of {self._path!r})")


def _describe(value: ToolValue) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}" if value is not None else "None"
