"""The rules of .gitignore files: what git would leave out of a folder."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from mcp_core.quick_dataclass import dataclass
from ot.files.globs import Matchers, compile_glob, match_names

GITIGNORE = ".gitignore"
GIT = ".git"
EXCLUDE = ".git/info/exclude"
MOST_BYTES = 1_000_000
_MOST_RULES = 5000
_LONGEST = 1000  # characters of a rule


@dataclass(frozen=True, slots=True)
class _Rule:
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
