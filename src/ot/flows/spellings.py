"""Spellings of a rare word: backwards, in rot13, with letters for its digits; and the two ends of a long one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import product

from ot.flows.letters import replacing

END = 10  # letters and digits of an end
_LONG = 15  # letters and digits of a token whose ends are remembered: accounts, cards, keys
_MOST_WINDOWS = 400  # letters and digits of a word that is looked through for ends
_FIGURES = 2  # digits that an end has, so that it is no word
_MOST_LIKE_LETTERS = 4  # digits of a token that may each be a letter

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ROT13 = replacing(dict(zip(_LETTERS, codecs.encode(_LETTERS, "rot13"), strict=True)))
_LIKE_LETTERS = {"0": "o", "1": "il", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"}
_FOR_LETTERS = str.maketrans({digit: letters[0] for digit, letters in _LIKE_LETTERS.items()})
_LIKE_LETTER = re.compile("[0134578]")
_DIGIT = re.compile(r"\d")
_INSIDE = re.compile(r"[a-z][0134578]+[a-z]")


def turn(word: str) -> list[str]:
    """Return a word backwards, in rot13, and with each of its digits as the letters that it looks like, or not."""
    if word.isdecimal():
        return [word[::-1]]
    other = _ROT13.apply(word)
    return [word[::-1], other] if word.isalpha() else [word[::-1], other, *_with_letters(word)]


def _with_letters(word: str) -> Iterator[str]:
    pieces = _LIKE_LETTER.split(word)
    if len(pieces) > _MOST_LIKE_LETTERS + 1 or not any(pieces):
        yield word.translate(_FOR_LETTERS)
        return
    digits = _LIKE_LETTER.findall(word)
    for chosen in product(*(digit + _LIKE_LETTERS[digit] for digit in digits)):
        yield "".join(piece + letter for piece, letter in zip(pieces, (*chosen, ""), strict=True))


def letters_for_digits(words: Iterable[str]) -> Iterator[str]:
    """Yield words in which digits stand inside of letters, with letters instead."""
    for word in words:
        if _INSIDE.search(word):
            yield word.translate(_FOR_LETTERS)


def ends_of(words: Iterable[str]) -> Iterator[str]:
    """Yield both ends of long words with digits: of what came, so that each half is known."""
    for word in words:
        if len(word) >= _LONG:
            for end in (word[:END], word[-END:]):
                if len(_DIGIT.findall(end)) >= _FIGURES:
                    yield end


def windows_of(word: str) -> Iterator[str]:
    """Yield every part of a word that could be such an end: of what is given."""
    if len(word) <= _MOST_WINDOWS and len(_DIGIT.findall(word)) >= _FIGURES:
        for start in range(len(word) - END + 1):
            yield word[start : start + END]
