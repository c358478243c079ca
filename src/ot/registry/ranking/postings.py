"""Postings: where words occur, and their worth there. Names count more than descriptions, rare words more."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ot.registry.ranking.searchable import Searchable
from ot.registry.ranking.words import read_words

# These, and those of the index, lie on a wide plateau of several labelled sets: half or twice of any moves little.
_NAME, _DESCRIPTION, _PARAMETERS = 4.0, 1.0, 0.5  # weight of each field
_NAME_LENGTH, _TEXT_LENGTH = 0.75, 0.6  # how much a long field takes from the worth of each of its words
_SATURATION = 2.0
_LONGEST = 10_000  # characters of a text that are read


class Postings(NamedTuple):
    """The occurrences of a word: positions of things, its worth there, and the most that it is worth anywhere."""

    positions: array[int]
    worth: array[float]
    most: float


NOWHERE = Postings(array("L"), array("f"), 0.0)


def read_postings(things: Sequence[Searchable]) -> dict[str, Postings]:
    """Every word of every thing: names count more than descriptions, and rare words more than common ones."""
    names = [list(read_words(thing.name)) for thing in things]
    descriptions = [list(read_words(thing.description[:_LONGEST])) for thing in things]
    parameter_texts = (" ".join(part for pair in thing.parameters.items() for part in pair) for thing in things)
    parameters = [list(read_words(text[:_LONGEST])) for text in parameter_texts]
    frequencies: dict[str, dict[int, float]] = defaultdict(dict)
    for texts, weight, by_length in (
        (names, _NAME, _NAME_LENGTH),
        (descriptions, _DESCRIPTION, _TEXT_LENGTH),
        (parameters, _PARAMETERS, _TEXT_LENGTH),
    ):
        usual = sum(map(len, texts)) / max(len(texts), 1) or 1.0
        for position, words in enumerate(texts):
            each = weight / (1 - by_length + by_length * len(words) / usual)
            for word, count in Counter(words).items():
                places = frequencies[word]
                places[position] = places.get(position, 0.0) + each * count
    return {word: _weigh(places, len(things)) for word, places in frequencies.items()}


def _weigh(frequencies: Mapping[int, float], among: int) -> Postings:
    factor = rarity(len(frequencies), among) * (_SATURATION + 1)
    return list_places({position: factor * often / (_SATURATION + often) for position, often in frequencies.items()})


def read_packs(things: Sequence[Searchable]) -> dict[str, Postings]:
    """The words of pack names: whoever names a pack means its tools, however many of them there are."""
    members: dict[str, list[int]] = defaultdict(list)
    for position, thing in enumerate(things):
        members[thing.pack].append(position)
    named: dict[str, list[str]] = defaultdict(list)
    for pack in members:
        for word in set(read_words(pack)):
            named[word].append(pack)
    return {
        word: list_places(dict.fromkeys((p for pack in packs for p in members[pack]), rarity(len(packs), len(members))))
        for word, packs in named.items()
    }


def rarity(having: int, among: int) -> float:
    return math.log(1 + (among - having + 0.5) / (having + 0.5))


def list_places(worth: Mapping[int, float]) -> Postings:
    return Postings(array("L", worth), array("f", worth.values()), max(worth.values())) if worth else NOWHERE
