"""Ordinary words: those that a dictionary has, and so say nothing about where a text came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("ordinary_words.txt")
_SHORTEST = 3  # letters or digits; what is shorter is ordinary
_ENDINGS = {
    "s": ("ings", "ness", "ers", "ies", "es", "s"),
    "g": ("ing",),
    "t": ("est",),
    "d": ("ed", "d"),
    "r": ("er", "r"),
    "y": ("ly", "y"),
}  # by their last letters
_MOST_MET = 50_000


def rare_among(tokens: Iterable[str]) -> list[str]:
    """Return, once each, the tokens of one case that no dictionary has: rare words, and whatever has digits."""
    rest = {*tokens} - _load() - _met()
    if not rest:
        return []
    return [
        token
        for token in rest
        if len(token) >= _SHORTEST and (token[-1] not in _ENDINGS or not token.isalpha() or not _is_form(token))
    ]


def _is_form(token: str) -> bool:
    """True if what is left of a word without a common ending is listed; such forms are kept."""
    listed, met = _load(), _met()
    if not any(stem in listed for stem in _stems(token)):
        return False
    if len(met) > _MOST_MET:
        met.clear()
    met.add(token)
    return True


def _stems(word: str) -> Iterator[str]:
    for ending in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST - 1:
            stem = word[: -len(ending)]
            yield from (stem, f"{stem}e", f"{stem}y")
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            elif stem[-1] == "i":
                yield f"{stem[:-1]}y"


@cache
def _load() -> frozenset[str]:
    lines = _FILE.read_text(encoding="ascii").splitlines()
    return frozenset(line for line in lines if line[:1] != "#")


@cache
def _met() -> set[str]:
    """Forms of listed words that were met, so that each is taken apart once."""
    return set()
