"""Globs over paths: `*` and `?` within a name, `**` over any number of folders, `{a,b}` for one of several.

A model writes them, so no pattern may take long: names are matched by regular expressions without backtracking, which
is what `fnmatch` makes, and folders by going back to the last `**` only.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence

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
        """True if a path with `/` between its names matches."""
        names = path.split("/")
        return any(match_names(pattern, names) for pattern in self._patterns)


def compile_glob(pattern: str) -> Matchers:
    """Return what matches each name of a path; `**` at the end stands for everything inside, not for the folder."""
    pattern = f"{pattern}/*" if pattern.endswith("/**") else pattern
    return tuple(
        _FOLDERS if part == "**" else _compile_name(part) for part in pattern.split("/") if part not in ("", ".")
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


def _compile_name(part: str) -> MatchName:
    return re.compile(fnmatch.translate(part)).match


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
