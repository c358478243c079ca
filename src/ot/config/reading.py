"""Reads plain values into the types of settings, and notes everything that does not fit.

Not pydantic, which reads what comes from outside everywhere else: a command is over in less time than it takes to
import. The types are those that `reader_of` knows; what is accepted for each is what pydantic accepts.
"""

from __future__ import annotations

import math
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from mcp_core.quick_dataclass import dataclass, replace
from ot.config.values import MISTAKE, ValueMistakeError

MISSING, UNKNOWN_KEY, WRONG_KEY = "missing", "unknown key", "wrong key"
VALUE, AMOUNT = "value", "amount"  # kinds of problems beside those of `mistake`; for an amount, an example helps
WRONG = object()  # returned for a value that does not fit, after its problem was noted
Place = tuple[str, ...]
_WHOLE = re.compile(r"[+-]?\d+(?:_\d+)*(?:\.0*)?", re.ASCII)
_LONGEST_NUMBER = 4000  # digits; Python reads no more than 4300
_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "off", "f", "false", "n", "no"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that does not fit, by the keys and positions that lead to it; no value is quoted."""

    place: Place
    kind: str
    reason: str
    fix: str
    of_key: bool = False  # not the value at that place, but its key


class SettingsError(ValueError):
    """Values that are no settings, with every problem there is, in the order of the settings."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{'.'.join(each.place) or 'it'}: {each.reason}" for each in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Before:
    """In the annotation of a type: makes what was written into what the type accepts; raises `mistake`."""

    function: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class After:
    """In the annotation of a type: accepts a value of that type, or another one for it; raises `mistake`."""

    function: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Bounds:
    """In the annotation of a number: where it must lie."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    def check(self, number: float) -> float:
        """Accept a number that is within them; raises a mistake."""
        for bound, holds, words in (
            (self.gt, operator.gt, "greater than"),
            (self.ge, operator.ge, "greater than or equal to"),
            (self.lt, operator.lt, "less than"),
            (self.le, operator.le, "less than or equal to"),
        ):
            if bound is not None and not holds(number, bound):
                raise ValueMistakeError(AMOUNT, f"must be {words} {bound}", "write another value")
        return number


Reader = Callable[[object, Place, list[Problem]], object]


@cache
def reader_of(annotation: Any) -> Reader:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        reader = reader_of(arguments[0])
        for mark in arguments[1:]:
            reader = _marked(reader, mark)
        return reader
    if origin in (types.UnionType, typing.Union) and len(arguments) == 2 and arguments[1] is types.NoneType:
        inner = reader_of(arguments[0])
        return lambda value, place, problems: None if value is None else inner(value, place, problems)
    if origin is tuple:
        return _listed(reader_of(arguments[0]))
    if origin is dict:
        return _mapping(reader_of(arguments[0]), reader_of(arguments[1]))
    if origin is typing.Literal:
        return _single(partial(_read_choice, arguments))
    if annotation in _SINGLE:
        return _single(_SINGLE[annotation])
    section: Reader = annotation.model_read
    return section


def read_switch(value: object) -> bool:
    """True or false in any of its spellings; raises `mistake`."""
    if isinstance(value, bool):
        return value
    text = value.lower() if isinstance(value, str) else str(int(value)) if value in (0, 1) else ""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueMistakeError(VALUE, "must be true or false", "write true or false")


def _single(function: Callable[[Any], object]) -> Reader:
    def read(value: object, place: Place, problems: list[Problem]) -> object:
        try:
            return function(value)
        except ValueMistakeError as mistake:
            problems.append(Problem(place, mistake.kind, mistake.reason, mistake.fix))
            return WRONG

    return read


def _marked(inner: Reader, mark: object) -> Reader:
    assert isinstance(mark, Before | After | Bounds)
    own = _single(mark.check if isinstance(mark, Bounds) else mark.function)
    first, second = (own, inner) if isinstance(mark, Before) else (inner, own)

    def read(value: object, place: Place, problems: list[Problem]) -> object:
        between = first(value, place, problems)
        return between if between is WRONG else second(between, place, problems)

    return read


def _listed(inner: Reader) -> Reader:
    def read(value: object, place: Place, problems: list[Problem]) -> object:
        if not isinstance(value, list | tuple | set | frozenset):
            problems.append(Problem(place, VALUE, "must be a list", "write it as [one, two]"))
            return WRONG
        before = len(problems)
        items = tuple(inner(item, (*place, str(index)), problems) for index, item in enumerate(value))
        return items if len(problems) == before else WRONG

    return read


def _mapping(keys: Reader, values: Reader) -> Reader:
    def read(value: object, place: Place, problems: list[Problem]) -> object:
        if not isinstance(value, Mapping):
            problems.append(no_section(place))
            return WRONG
        before = len(problems)
        found: dict[object, object] = {}
        for key, item in value.items():
            inside: Place = (*place, str(key))
            of_key: list[Problem] = []
            name = keys(key, inside, of_key)
            problems += [replace(problem, of_key=True) for problem in of_key]
            found[name] = values(item, inside, problems)
        return found if len(problems) == before else WRONG

    return read


def no_section(place: Place) -> Problem:
    """Return the problem of what should hold keys of its own."""
    return Problem(place, VALUE, "must be a section with keys", 'write "key: value" lines below it')


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueMistakeError(VALUE, "must be text", "put it in quotes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueMistakeError(VALUE, "must be text in UTF-8", "remove what is not") from None
    return value


def _read_whole(value: object) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueMistakeError(VALUE, "must be a finite number", "write a number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueMistakeError(VALUE, "must be a whole number", "write a whole number")
    if isinstance(value, int | float):
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) and len(value) <= _LONGEST_NUMBER:
        return int(value.strip().partition(".")[0])
    raise _no_number()


def _read_number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise _no_number()
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:
        raise _no_number() from None


def _no_number() -> ValueMistakeError:
    return ValueMistakeError(AMOUNT, "must be a number", "write a number")


def _read_choice(choices: tuple[object, ...], value: object) -> object:
    if isinstance(value, str) and value in choices:
        return value
    *others, last = (repr(choice) for choice in choices)
    raise ValueMistakeError(VALUE, f"must be {', '.join(others)} or {last}", "write one of these words")


def _read_place(value: object) -> Path:
    if isinstance(value, str | Path):
        return Path(value)
    raise ValueMistakeError(MISTAKE, "must be a path", "write a path as text")


_SINGLE: dict[object, Callable[[Any], object]] = {
    str: _read_text,
    int: _read_whole,
    float: _read_number,
    bool: read_switch,
    Path: _read_place,
    object: lambda value: value,
}
