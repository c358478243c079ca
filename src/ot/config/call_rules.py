"""Rules about calls: a pattern of tools, or a mapping that acts by the arguments or the number of calls."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

from ot.config.reading import MISSING, VALUE, WRONG, WRONG_KEY, Place, Problem, reader_of
from ot.config.section import Count, Pattern

Period = Literal["run", "hour"]
NOT = "not"
_CONDITION = re.compile(r"\s*(?P<sign>[<>]=?|!?=|not\s)?\s*(?P<operand>.*\S)\s*", re.DOTALL)
_KNOWN = "a rule has the keys tool, where, more_than and per"
_EXAMPLES = 'write for example "> 100", "*@example.com" or "not *@example.com"'


class Condition(NamedTuple):
    """A test of one argument: a comparison with a number or, where the sign is empty or `not`, a pattern of text."""

    argument: str
    sign: str
    operand: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


class CallRule(NamedTuple):
    """The calls of a tool whose arguments fit all conditions; with `more_than`, those beyond that number."""

    tool: str
    where: tuple[Condition, ...] = ()
    more_than: int | None = None
    per: Period = "run"

    @property
    def always(self) -> bool:
        """True if it acts on every call of the tool."""
        return not self.where and self.more_than is None

    def __str__(self) -> str:
        where = f" with {' and '.join(map(str, self.where))}" if self.where else ""
        number = "" if self.more_than is None else f", more than {self.more_than} per {self.per}"
        return f"{self.tool}{where}{number}"

    @classmethod
    def model_read(cls, value: object, place: Place, problems: list[Problem]) -> object:
        """Read a rule at a place, as a section is read; what is wrong with it is added to `problems`."""
        if isinstance(value, cls):
            return value
        given = value if isinstance(value, Mapping) else {"tool": value}
        before = len(problems)
        if given.get("tool") is None:
            problems.append(Problem((*place, "tool"), MISSING, "is missing", "add it"))
        unknown = (key for key in given if key not in cls._fields)
        problems += [Problem((*place, str(key)), WRONG_KEY, "unknown key", _KNOWN) for key in unknown]
        read: dict[str, object] = {}
        for key, reader in _READERS.items():
            if given.get(key) is not None:
                read[key] = reader(given[key], (*place, key) if given is value else place, problems)
        if "per" in read and "more_than" not in read:
            problems.append(Problem((*place, "per"), VALUE, "counts nothing without more_than", "add more_than"))
        if len(problems) > before:
            return WRONG
        where = cast("dict[str, str]", read.pop("where", {}))
        conditions = tuple(Condition(name, *_split(text)) for name, text in where.items())
        return cls(where=conditions, **read)  # type: ignore[arg-type] # of the types that the readers give


def _split(text: str) -> tuple[str, str]:
    found = _CONDITION.fullmatch(text)
    return ((found["sign"] or "").strip(), found["operand"]) if found is not None else ("", "")


def _read_conditions(value: object, place: Place, problems: list[Problem]) -> object:
    read = reader_of(dict[str, object])(value, place, problems)
    if not isinstance(read, dict):
        return WRONG
    for name, text in read.items():
        reason = ""
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            reason = "must be text or a number"
        else:
            read[name] = str(text)
            sign, operand = _split(read[name])
            if not operand:
                reason = "must be a condition"
            elif sign not in ("", NOT) and not _is_number(operand):
                reason = "must compare with a number"
        if reason:
            problems.append(Problem((*place, str(name)), VALUE, reason, _EXAMPLES))
    return read


def _read_most(value: object, place: Place, problems: list[Problem]) -> object:
    most = reader_of(Count)(value, place, problems)
    if isinstance(most, int) and most < 0:
        problems.append(Problem(place, VALUE, "must not be negative", "write 0 or more"))
    return most


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_READERS = {
    "tool": reader_of(Pattern),
    "where": _read_conditions,
    "more_than": _read_most,
    "per": reader_of(Period),
}
