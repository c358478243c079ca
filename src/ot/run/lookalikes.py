"""Text of a tool that looks like a value: a reader who takes it for one writes code that fails."""

from __future__ import annotations

import ast
import json
import warnings

_MOST_TEXT = 16 * 1024  # characters of one text
_MOST_TEXTS = 64  # of one run
_BEGINS = ("{", "[", "(")


class Lookalikes:
    """The texts that the tools of one run gave, as far as they may look like values."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def add(self, value: object) -> None:
        """Remember what a tool gave."""
        if type(value) is str and value[:1] in _BEGINS and len(value) <= _MOST_TEXT and len(self._texts) < _MOST_TEXTS:
            self._texts.add(value)

    def explain(self, value: object) -> str:
        """Say what the value of a run is and how to read it, if it is such a text; else nothing."""
        if type(value) is not str or value not in self._texts:
            return ""
        for reader, read in (("json.loads", json.loads), ("ast.literal_eval", _literal)):
            try:
                kind = type(read(value)).__name__
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
            return f"[This is text (str), not a {kind}: {reader}() makes it one.]"
        return ""


def _literal(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in somebody's text
        return ast.literal_eval(text)
