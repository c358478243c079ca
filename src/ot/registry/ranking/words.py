"""Text as words that can be compared: lower case, names taken apart, endings cut off, empty words left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")
# Scripts that put no spaces between words; two neighbours at a time stand for a word.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_VOWEL = re.compile("[aeiouy]")
_LONGEST = 60  # characters; what is longer is data, not a word

_EMPTY = """
    a an the of to in on at by for from with without as is are was were be been being am it its this that these those
    and or not but if so than then there here i me my mine we us our ours you your yours he she him her they them their
    what which who whom whose how when where why do does did done have has had having can could may might must shall
    should will would all any each every some more most other another such only own same too very just also about into
    onto over under up out off again once both few no nor yes please want wants need needs like give gives tell let make
    makes sure using use uses used via per etc eg ie one within between through during before after while because until
"""
STOP_WORDS = frozenset(_EMPTY.split())


def read_words(text: str) -> Iterator[str]:
    """The stems of a text's words in order; a name such as `listOpenIssues` counts whole and in its parts."""
    for word in _WORD.findall(text):
        if len(word) <= _LONGEST:
            yield from _stems(word)


@lru_cache(maxsize=20_000)
def _stems(word: str) -> tuple[str, ...]:
    whole = word.lower()
    if _UNSPACED.fullmatch(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    parts = [part.lower() for part in _PART.findall(word)]
    words = [whole, *(part for part in parts if len(part) > 1)] if len(parts) > 1 else [whole]
    return tuple(stem(each) for each in words if each not in STOP_WORDS)


def stem(word: str) -> str:
    """A word without the endings of plural, tense and verbal noun, so that `files`, `filed` and `filing` are one."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    word = _without_participle(_singular(word))
    if word.endswith("e") and len(word) > 3:
        return word[:-1]
    if word.endswith("y") and len(word) > 3 and not _VOWEL.match(word[-2]):
        return f"{word[:-1]}i"
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_participle(word: str) -> str:
    for ending in ("ing", "ed", "ion"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest) and (ending != "ion" or rest[-1] in "st"):
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
    return word
