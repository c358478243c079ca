"""Text as words that can be compared: lower case, names taken apart, endings cut off, empty words left out."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

_WORD = re.compile(r"[^\W_]+")
_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")
# Scripts that put no spaces between words; two neighbours at a time stand for a word.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_VOWEL = re.compile("[aeiouy]")
_PARTICIPLES = ("ing", "ed", "ion")
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


class Stems(dict[str, tuple[str, ...]]):
    """The stems of every word that was met, for whoever reads many texts: few of their words are new."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = self[word] = _take_apart(word)
        return found

    def read(self, text: str) -> list[str]:
        """Return what `read_words` does."""
        return list(chain.from_iterable(map(self.__getitem__, _split(text))))


def read_words(text: str) -> list[str]:
    """The stems of a text's words in order; a name such as `listOpenIssues` counts whole and in its parts."""
    return list(chain.from_iterable(map(_stems, _split(text))))


def _split(text: str) -> list[str]:
    return text.translate(_GAPS).split() if text.isascii() else _WORD.findall(text)  # the former in a tenth of the time


@lru_cache(maxsize=20_000)
def _stems(word: str) -> tuple[str, ...]:
    return _take_apart(word)


def _take_apart(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        return ()
    whole = word.lower()
    if word.isascii() and word[1:].islower() and word.isalpha():  # most words: there is nothing to take apart
        return () if whole in STOP_WORDS else (stem(whole),)
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
    if word[-1] != "s":
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _without_participle(word: str) -> str:
    if not word.endswith(_PARTICIPLES):
        return word
    for ending in _PARTICIPLES:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest) and (ending != "ion" or rest[-1] in "st"):
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
    return word
