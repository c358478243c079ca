"""Secrets in what is logged become `***`: whatever stands under a telling name, and values that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
SHORTEST = 6  # shorter values would blank out ordinary words
MAX_DEPTH = 20

_WORDS = (
    r"(?:api|access|auth|client|encryption|private|secret|session|signing)[_\-.\s]?(?:key|token|secret)s?"
    r"|authori[sz]ation|bearer|cookie|credentials?|pass(?:words?|wd|phrase)|pwd|secrets?|tokens?|jwt"
)
_NAME = re.compile(rf"(?:^|[^a-z])(?:{_WORDS})(?:$|[^a-z])", re.IGNORECASE)
# A telling name, what separates it from its value, and the scheme of an Authorization header.
_BEFORE_VALUE = re.compile(
    rf"""(?<![a-z])(?:{_WORDS})(?![a-z])[\w\-]{{0,40}}\\?["']?\s{{0,8}}(?:=>|[:=])\s{{0,8}}(?:(?:basic|bearer|token)\s{{1,8}})?"""
    r"|\bbearer\s+",
    re.IGNORECASE,
)
_PLAIN_VALUE = re.compile(r"""[^\s,;&"'()\[\]{}]+""")
_QUOTED = re.compile(r"""[bru]?\\?(["'])(?:\\.|(?!\1).)*(?:\1|$)""", re.IGNORECASE | re.DOTALL)
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def looks_secret(name: str) -> bool:
    """Whether what stands under this name should not be read by everybody."""
    # camelCase is split: apiKey is api_Key, while tokenizer stays one word.
    return _NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None


class Redactor:
    """Replaces secrets in text and in values of any depth; it may learn more values while it is used."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for value in values:
            self.learn(value)

    def learn(self, value: str) -> None:
        """From now on replace this value wherever it stands; one of fewer than six characters is left alone."""
        if len(value) < SHORTEST:
            return
        self._known |= {value, repr(value)[1:-1], json.dumps(value)[1:-1]}
        longest_first = sorted(self._known, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """The text without known values, and without what follows a telling name."""
        if self._pattern is not None:
            text = self._pattern.sub(MASK, text)
        return _mask_named(_IN_ADDRESS.sub(f"{MASK}:{MASK}", text))

    def value(self, value: Any) -> Any:
        """A copy without secrets, as deep as twenty levels and then cut; other types than JSON's stay as they are."""
        return self._visit(value, MAX_DEPTH)

    def _visit(self, value: Any, levels: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (Mapping, list, tuple, set, frozenset)) and not levels:
            return "..."
        if isinstance(value, Mapping):
            return {
                key: MASK if isinstance(key, str) and looks_secret(key) else self._visit(item, levels - 1)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._visit(item, levels - 1) for item in value]
        return value


def _mask_named(text: str) -> str:
    """Replace the value after each telling name: a quoted text, everything in brackets, or a word."""
    parts = []
    end = 0
    for found in _BEFORE_VALUE.finditer(text):
        if found.start() < end:
            continue
        parts += [text[end : found.end()], MASK]
        end = _end_of_value(text, found.end())
    return "".join([*parts, text[end:]]) if parts else text


def _end_of_value(text: str, start: int) -> int:
    if quoted := _QUOTED.match(text, start):
        return quoted.end()
    closing = _CLOSING.get(text[start : start + 1])
    if closing is not None:
        return _end_of_brackets(text, start, closing)
    plain = _PLAIN_VALUE.match(text, start)
    return plain.end() if plain else start


def _end_of_brackets(text: str, start: int, closing: str) -> int:
    depth = 0
    for index in range(start, len(text)):
        if text[index] == text[start]:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if not depth:
                return index + 1
    return len(text)
