"""The language of Seatbelt's profiles, as far as ours use it: lists, words, and strings as TinyScheme reads them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

_TOKEN = re.compile(r'\s*(?:([()])|("(?:[^"\\]|\\.)*")|([^\s()"]+))', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Quoted(str):
    """A string, which is no word."""

    __slots__ = ()


@functools.lru_cache(8)
def parse(profile: str) -> list[list[Any]]:
    """Return the rules of a profile, each as a list; raises ValueError for what is none."""
    stack: list[list[Any]] = [[]]
    place, end = 0, len(profile.rstrip())
    while place < end:
        match = _TOKEN.match(profile, place)
        if match is None:
            raise ValueError(profile[place : place + 40])
        place = match.end()
        bracket, string, word = match.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(Quoted(_unescape(string[1:-1])) if string else word)
    (rules,) = stack
    if not all(isinstance(rule, list) for rule in rules):
        raise ValueError("a word outside of a rule")
    return rules


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def decide(profile: str, operation: str, path: str) -> bool:
    """True if the last rule that speaks of this operation, and of this path, allows it."""
    allowed = False
    for verb, *parts in parse(profile):
        names = [part for part in parts if not isinstance(part, list)]
        filters = [part for part in parts if isinstance(part, list)]
        meant = verb in ("allow", "deny") and any(_covers(name, operation) for name in names)
        if meant and (not filters or any(_matches(each, path) for each in filters)):
            allowed = verb == "allow"
    return allowed


def _covers(name: str, operation: str) -> bool:
    return name in ("default", operation) or (name.endswith("*") and operation.startswith(name[:-1]))


def _matches(condition: Sequence[str], path: str) -> bool:
    kind, value = condition[0], condition[-1]
    if kind == "subpath":
        return path == value or path.startswith(value.rstrip("/") + "/")
    return kind == "literal" and path == value


def places_of(rules: Sequence[Sequence[Any]], operation: str, verb: str = "allow") -> tuple[str, ...]:
    """Return the paths of all rules that speak of an operation by this very name."""
    found = [rule for rule in rules if rule[0] == verb and operation in rule]
    return tuple(str(part[1]) for rule in found for part in rule if isinstance(part, list))
