"""Whether a call fits a rule on its arguments; what is missing or cannot be compared fits."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from ot.config.call_rules import NOT, CallRule, Condition
from ot.registry.names import identifier
from ot.values import Arguments

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
_QUOTED = re.compile(r'"[^"@]*"')  # a person's name beside their address
_ODD_STEPS = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)|^//|(?<!:)//")  # the path may lead elsewhere than it says
_BETWEEN = re.compile(r"[,;\n\r]")
_ADDRESS = re.compile(r"[^\s<>()\[\]]*@[^\s<>()\[\]]*")


def fits(rule: CallRule, arguments: Arguments) -> bool:
    """True if the arguments fit every condition of a rule."""
    return all(_holds(condition, arguments) for condition in rule.where)


def _holds(condition: Condition, arguments: Arguments) -> bool:
    wanted = condition.argument
    meant = [value for name, value in arguments.items() if wanted in (name, identifier(name, fallback=""))] or [None]
    if condition.sign in _COMPARED:
        return any(_compare(item, condition) for item in _items(meant))
    pattern, wanted_fit = condition.operand.casefold(), condition.sign != NOT
    return any(
        text is None or fnmatchcase(text.casefold(), pattern) is wanted_fit
        for item in _items(meant)
        for text in _texts(item, by_address="@" in pattern)
    )


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _items(item)
    else:
        yield value


def _compare(value: object, condition: Condition) -> bool:
    if isinstance(value, bool):
        return True
    try:
        number = float(value)  # type: ignore[arg-type] # whatever it is, a decimal among them
    except (TypeError, ValueError, OverflowError):
        return True
    return math.isnan(number) or _COMPARED[condition.sign](number, float(condition.operand))


def _texts(value: object, *, by_address: bool) -> Iterator[str | None]:
    """Yield what a pattern is held against: a text, or each address in it; None for what is not text."""
    if not isinstance(value, str | int | float):
        yield None
    elif not by_address:
        yield None if _ODD_STEPS.search(str(value)) else str(value)
    else:
        for part in _BETWEEN.split(_QUOTED.sub("", str(value))):
            addresses = _ADDRESS.findall(part)
            if addresses or part.strip():
                yield from (each if each.count("@") == 1 else None for each in addresses or [part.strip()])
