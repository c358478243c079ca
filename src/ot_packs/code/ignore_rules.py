"""The rules of .gitignore files: what git leaves out of a project, searches leave out too."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_MOST_RULES = 2000  # of one file
_ESCAPED = re.compile(r"\\(.)")
_ANY_FOLDERS = "**"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: the parts of a path, from the folder of its file on; None stands for any number of folders."""

    parts: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders_only: bool

    def matches(self, path: Sequence[str]) -> bool:
        """True if the whole path fits; takes as many steps as the parts of both multiplied, whatever the rule."""
        reached = {0}  # how many parts of the rule the path has used up so far
        for name in path:
            reached = set(self._advance(reached, name))
        return len(self.parts) in self._skip(reached)

    def _advance(self, reached: set[int], name: str) -> Iterator[int]:
        for at in self._skip(reached):
            if at < len(self.parts):
                part = self.parts[at]
                if part is None:
                    yield at
                elif part.match(name):
                    yield at + 1

    def _skip(self, reached: set[int]) -> set[int]:
        """Add the places behind a part that may stand for no folder at all."""
        found = set(reached)
        for at in sorted(reached):
            while at < len(self.parts) - 1 and self.parts[at] is None:
                at += 1  # noqa: PLW2901 - each of several in a row
                found.add(at)
        return found


class IgnoreRules:
    """The rules of one file; the last that fits decides."""

    def __init__(self, text: str) -> None:
        rules = list(_read_rules(text.splitlines()[:_MOST_RULES]))
        self._rules = tuple(reversed(rules))
        names = [last.pattern for rule in rules if (last := rule.parts[-1]) is not None]
        self._any_name = re.compile("|".join(f"(?:{name})" for name in names) or r"(?!)", re.DOTALL)

    def ignores(self, path: Sequence[str], *, folder: bool) -> bool | None:
        """True if the path, given from the folder of the file on, is left out; None if nothing is said of it."""
        if not self._any_name.match(path[-1]):
            return None
        for rule in self._rules:
            if (folder or not rule.folders_only) and rule.matches(path):
                return not rule.negated
        return None


def _read_rules(lines: Iterable[str]) -> Iterator[Rule]:
    for line in lines:
        text = _without_trailing_spaces(line)
        if not text or text.startswith("#"):
            continue
        negated = text.startswith("!")
        text = text.removeprefix("!")
        folders_only = text.endswith("/")
        text = text.rstrip("/") if folders_only else text
        if not text:
            continue
        words = text.removeprefix("/").split("/")
        if "/" not in text:
            words.insert(0, _ANY_FOLDERS)  # a name alone may lie at any depth
        try:
            parts = tuple(None if word == _ANY_FOLDERS else _compile(word) for word in words)
        except re.error:
            continue
        if parts[-1] is None:  # `folder/**` is what is in it, and not the folder itself
            parts = (*parts, _compile("*"))
        yield Rule(parts, negated, folders_only)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t\r\n")
    return f"{stripped} " if stripped.endswith("\\") and len(stripped) < len(line) else stripped


def _compile(word: str) -> re.Pattern[str]:
    # `fnmatch` writes patterns that never go back over what a `*` has taken, so no rule can take for ever.
    plain = _ESCAPED.sub(lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], word)
    return re.compile(fnmatch.translate(plain))
