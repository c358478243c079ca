"""Text of a tool that looks like a value: a reader who takes it for one writes code that fails."""

from __future__ import annotations

import ast
import json
import re
import warnings
from itertools import islice

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
            if found := _find_reader(text) or _guess_reader(text):
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


def _guess_reader(text: str) -> tuple[str, str] | None:
    """The same for one of which only the beginning is there."""
    begins = _BEGINNING.match(text) if len(text) == _MOST_BEGINNING else None
    return (_BEGINS[text[0]], "json.loads" if begins[1] == '"' else "ast.literal_eval") if begins else None


def _literal(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in somebody's text
        return ast.literal_eval(text)
