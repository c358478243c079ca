"""The calls that a run has made and that succeeded, for the answer of one that fails: the next attempt depends on them.

Of many only the first and the last are kept, more of those that may have had an effect than of those that only read.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import islice
from operator import attrgetter
from reprlib import Repr
from typing import TypeAlias

from mcp_core.quick_dataclass import dataclass
from ot.effects import Effect
from ot.tasks.large_values import LARGE_MESSAGE
from ot.text.redaction import Redactor

HEADING = "Calls that succeeded:"
MOST_ARGUMENTS = 8  # of one call
LONGEST_LINE = 200  # characters
_SMALL = 1024  # bytes of arguments that are compared with those of the call before
_MOST_UNSORTED = 32
_FIRST, _LAST = 3, 5
_FIRST_READ, _LAST_READ = 1, 3

_Call: TypeAlias = tuple[str, Effect, Sequence[object], Mapping[str, object], int]
"""Tool, effect, arguments by position and by name, and how many bytes they took."""

_short = Repr()
_short.maxstring = _short.maxother = 60
_short.maxlevel, _short.maxlist, _short.maxtuple, _short.maxdict, _short.maxset = 2, 3, 3, 3, 3


@dataclass(slots=True)
class _Made:
    """A call, or several that are alike and follow one another."""

    place: int
    tool: str
    positional: Sequence[object] | None  # None where it was given too much to be shown
    keywords: Mapping[str, object]
    small: bool
    times: int = 1

    @property
    def call(self) -> tuple[object, ...]:
        return self.tool, self.positional, self.keywords


class _Some:
    """The first and the last calls of one kind."""

    def __init__(self, first: int, last: int) -> None:
        self._room = first
        self.first: list[_Made] = []
        self.last: deque[_Made] = deque(maxlen=last)
        self.newest: _Made | None = None

    def add(self, made: _Made) -> None:
        self.newest = made
        if len(self.first) < self._room:
            self.first.append(made)
        else:
            self.last.append(made)


class _Sorted:
    """Calls by whether they may have changed anything."""

    def __init__(self) -> None:
        self._changing = _Some(_FIRST, _LAST)
        self._reading = _Some(_FIRST_READ, _LAST_READ)
        self._counts: dict[str, int] = {}
        self._places = itertools.count()

    def take(self, calls: Iterable[_Call]) -> None:
        for tool, effect, positional, keywords, size in calls:
            self._counts[tool] = self._counts.get(tool, 0) + 1
            group = self._reading if effect is Effect.READS else self._changing
            made = _Made(
                next(self._places), tool, None if size > LARGE_MESSAGE else positional, keywords, size <= _SMALL
            )
            newest = group.newest
            if newest is not None and newest.small and made.small and newest.call == made.call:
                newest.times += 1
            else:
                group.add(made)

    def word(self, redactor: Redactor) -> str:
        if not self._counts:
            return ""
        place = attrgetter("place")
        last = [*self._changing.last, *self._reading.last]
        shown = sorted([*self._changing.first, *self._reading.first, *last], key=place)
        left_out = Counter(self._counts)
        for made in shown:
            left_out[made.tool] -= made.times
        lines = [_word_call(made, redactor) for made in shown]
        if left_out := +left_out:
            most = left_out.most_common(5)
            tools = ", ".join(tool if count == 1 else f"{tool} {count:,} times" for tool, count in most)
            more = f" and {len(left_out) - 5} other tools" if len(left_out) > 5 else ""
            gap = shown.index(min(last, key=place)) if last else len(shown)
            lines.insert(gap, f"  ... {left_out.total():,} more: {tools}{more}")
        return "\n".join((HEADING, *lines))


@dataclass(eq=False, slots=True)
class MadeCalls:
    """Takes calls as they succeed. Everything else is done when there are many, or when somebody wants words."""

    _unsorted: list[_Call] = field(default_factory=list)
    _sorted: _Sorted | None = None

    def add(
        self, tool: str, effect: Effect, positional: Sequence[object], keywords: Mapping[str, object], size: int
    ) -> None:
        """Note a call whose arguments took `size` bytes."""
        if size > LARGE_MESSAGE:
            positional, keywords = (), {}  # they are not shown, and should not be kept
        self._unsorted.append((tool, effect, positional, keywords, size))
        if len(self._unsorted) >= _MOST_UNSORTED:
            self._sort()

    def _sort(self) -> _Sorted:
        self._sorted = made = self._sorted or _Sorted()
        made.take(self._unsorted)
        self._unsorted.clear()
        return made

    def word(self, redactor: Redactor) -> str:
        """List them, one in each line, without secrets; nothing where there are none."""
        return self._sort().word(redactor)


def _word_call(made: _Made, redactor: Redactor) -> str:
    """Write a call as code would; values are shortened only once there are no secrets in them."""
    times = f"  ({made.times:,} times)" if made.times > 1 else ""
    if made.positional is None:
        return f"  {made.tool}(...){times}"
    values = [_short.repr(redactor.value(value)) for value in made.positional[:MOST_ARGUMENTS]]
    for key in [*made.keywords][: MOST_ARGUMENTS - len(values)]:
        name = redactor.text(key)
        if not name.isprintable() or len(name) > _short.maxstring:  # it may come from data, and then be anything
            name = _short.repr(name)
        values.append(f"{name}={_short.repr(redactor.value(made.keywords[key]))}")
    if len(values) < len(made.positional) + len(made.keywords):
        values.append("...")
    line = f"{made.tool}({', '.join(values)})"
    return f"  {line if len(line) <= LONGEST_LINE else f'{line[: LONGEST_LINE - 4]}...)'}{times}"


_MOST_TEXT = 16 * 1024  # characters of one text
_MOST_BEGINNING = 100  # characters kept of a longer one
_MOST_TEXTS = 64  # of one run
_MOST_SUSPECTS = 8  # that are looked at when code fails
_BEGINS = {"{": "dict", "[": "list", "(": "tuple"}
# How a long text begins that is one of these; its first quotation mark tells what reads it.
_BEGINNING = re.compile(r"""[\[({\s]+(["'])""")


class Lookalikes:
    """The texts that the tools of one run gave, as far as they may look like values."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}  # and the tool that gave each

    def add(self, tool: str, value: object) -> None:
        """Remember what a tool gave; of a long text, its beginning."""
        if type(value) is str and value[:1] in _BEGINS and len(self._texts) < _MOST_TEXTS:
            self._texts[value if len(value) <= _MOST_TEXT else value[:_MOST_BEGINNING]] = tool

    def explain(self, value: object) -> str:
        """Say what the value of a run is and how to read it, if it is such a text; else nothing."""
        if type(value) is not str or value not in self._texts:
            return ""
        found = _find_reader(value)
        return f"[This is text (str), not a {found[0]}: {found[1]}() makes it one.]" if found else ""

    def suspect(self) -> str:
        """Say which tool gave such a text last, to somebody whose code failed on it; nothing where none did."""
        for text, tool in islice(reversed(self._texts.items()), _MOST_SUSPECTS):
            found = _find_reader(text)
            if found is None and len(text) == _MOST_BEGINNING and (begins := _BEGINNING.match(text)):
                found = _BEGINS[text[0]], "json.loads" if begins[1] == '"' else "ast.literal_eval"
            if found:
                return f"[{tool} gave text (str), not a {found[0]}: {found[1]}() makes it one.]"
        return ""


def _find_reader(text: str) -> tuple[str, str] | None:
    """The kind of value that a text looks like, and the reason."""
    for reader, read in (("json.loads", json.loads), ("ast.literal_eval", _literal)):
        try:
            return type(read(text)).__name__, reader
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _literal(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in somebody's text
        return ast.literal_eval(text)
