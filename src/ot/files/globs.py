"""Globs over paths: `*` and `?` within a name, `**` over any number of folders, `{a,b}` for one of several.

A model writes them, so no pattern may take long: names are matched by regular expressions without backtracking, which
is what `fnmatch` makes, and folders by going back to the last `**` only. The rules of .gitignore files are
globs too.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_LONGEST = 1000  # characters
_MOST_BRANCHES = 100  # of braces
_FOLDERS = None
"""In the place of a name: any number of folders."""

MatchName = Callable[[str], object]
Matchers = tuple[MatchName | None, ...]


class GlobError(ValueError):
    """A glob that cannot be used."""


class Glob:
    """Patterns of paths below a folder; one without a slash matches names in any of its folders."""

    def __init__(self, pattern: str) -> None:
        if not pattern or "\0" in pattern or len(pattern) > _LONGEST:
            raise GlobError(f"a glob must have between 1 and {_LONGEST:,} characters, for example *.py or src/**/*.ts")
        branches = _expand(pattern)
        self._patterns = [compile_glob(each if "/" in each.strip("/") else f"**/{each}") for each in branches]

    def matches(self, path: str) -> bool:
        names = path.split("/")
        return any(match_names(pattern, names) for pattern in self._patterns)


def compile_glob(pattern: str) -> Matchers:
    """Return what matches each name of a path; `**` at the end stands for everything inside, not for the folder."""
    pattern = f"{pattern}/*" if pattern.endswith("/**") else pattern
    return tuple(
        _FOLDERS if part == "**" else re.compile(fnmatch.translate(part)).match
        for part in pattern.split("/")
        if part not in ("", ".")
    )


def match_names(pattern: Matchers, names: Sequence[str]) -> bool:
    """True if the names match, from the first to the last."""
    at = place = 0
    again: tuple[int, int] | None = None  # after the last `**`, and the next name that it may take
    while place < len(names):
        if at < len(pattern) and pattern[at] is _FOLDERS:
            at += 1
            again = (at, place)
        elif at < len(pattern) and (matcher := pattern[at]) is not None and matcher(names[place]):
            at, place = at + 1, place + 1
        elif again is not None:
            at, place = again[0], again[1] + 1
            again = (at, place)
        else:
            return False
    return all(part is _FOLDERS for part in pattern[at:])


def _expand(pattern: str) -> list[str]:
    """Return a pattern without its braces, once for each of their branches."""
    done, waiting = list[str](), [pattern]
    while waiting:
        current = waiting.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", current)
        if found is None:
            done.append(current)
        else:
            waiting += [current[: found.start()] + branch + current[found.end() :] for branch in found[1].split(",")]
        if len(done) + len(waiting) > _MOST_BRANCHES:
            raise GlobError(f"its braces expand to more than {_MOST_BRANCHES} globs")
    return done


GITIGNORE = ".gitignore"
GIT = ".git"
EXCLUDE = ".git/info/exclude"
MOST_BYTES = 1_000_000
_MOST_RULES = 5000


class _Rule(NamedTuple):
    text: str
    pattern: Matchers
    anywhere: bool  # it names no folder: it holds for the name in all of them
    keeps: bool  # `!`: what it names is not ignored after all
    folders_only: bool

    def matches(self, names: Sequence[str], *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        return match_names(self.pattern, names[-1:] if self.anywhere else names)


class IgnoreFile:
    """The rules of one file, for what is below its folder."""

    def __init__(self, text: str) -> None:
        lines = [line for line in text.splitlines()[:_MOST_RULES] if len(line) <= _LONGEST]
        self._rules = [rule for line in lines if (rule := _parse(line)) is not None]
        self._elsewhere = [rule for rule in self._rules if not rule.anywhere]
        # Most rules are about names, and most names are in none of them: one look tells.
        self._names = re.compile(
            "|".join(fnmatch.translate(rule.text) for rule in self._rules if rule.anywhere) or "(?!)"
        )

    def decides(self, names: Sequence[str], *, folder: bool) -> bool | None:
        """Return whether a path, seen from the file's folder, is ignored; None where no rule speaks of it."""
        rules = self._rules if self._names.match(names[-1]) else self._elsewhere
        for rule in reversed(rules):
            if rule.matches(names, folder=folder):
                return not rule.keeps
        return None


def _parse(line: str) -> _Rule | None:
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#"):
        return None
    keeps, line = line.startswith("!"), line.removeprefix("!")
    folders_only, line = line.endswith("/"), line.rstrip("/")
    text = re.sub(r"\\(.)", _literal, line)
    pattern = compile_glob(text)
    return _Rule(text, pattern, "/" not in line, keeps, folders_only) if pattern else None


def _literal(escaped: re.Match[str]) -> str:
    """Return what stands for a character itself in a glob."""
    return f"[{escaped[1]}]" if escaped[1] in "*?[" else escaped[1]
