"""Text as words that can be compared: lower case, names taken apart, endings cut off, empty words left out.

Its synonyms, and which words say nothing, are in vocabulary.txt; what people call the tools of a pack is in the file
keywords.txt beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path

_WORD = re.compile(r"[^\W_]+")
_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")
# Scripts that put no spaces between words; two neighbours at a time stand for a word.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_VOWEL = re.compile("[aeiouy]")
_PARTICIPLES = ("ing", "ed", "ion")
_LONGEST = 60  # characters; what is longer is data, not a word


def _read_vocabulary() -> dict[str, list[list[str]]]:
    """The words of each line, by section."""
    sections: dict[str, list[list[str]]] = {}
    for line in Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = sections[line[1 : line.index("]")]] = []
        elif line and not line.startswith("#"):
            lines.append(line.split())
    return sections


_VOCABULARY = _read_vocabulary()
STOP_WORDS = frozenset(chain(*_VOCABULARY["empty"]))


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


_stems = lru_cache(maxsize=20_000)(_take_apart)


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


def read_keywords(folder: Path) -> dict[str, str]:
    """The words by which people ask for the tools of a folder's packs: `pack.tool: words`, a line each."""
    try:
        lines = (folder / "keywords.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: words for name, _, words in (line.partition(": ") for line in lines) if not name.startswith("#")}


def _stems_of(section: str) -> frozenset[str]:
    return frozenset(map(stem, chain(*_VOCABULARY[section])))


def _synonyms() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in (*_VOCABULARY["actions"], *_VOCABULARY["things"]):
        group = frozenset(map(stem, line))
        for word in group:
            found[word] = (found.get(word, frozenset()) | group) - {word}
    return found


SYNONYMS = _synonyms()  # stems, and the stems of the words that may be meant by each
WEAK = _stems_of("weak")  # stems that say little about a tool
READING = _stems_of("reading")  # stems of what one asks for to know something
CHANGING = _stems_of("changing")
"""Stems of what one asks for to have something changed; a tool that is named by one of them changes something."""
ACTIONS = _stems_of("actions")  # stems of what one can ask a tool to do; behind an `and` they begin another request
