"""Searchable things, and where words occur in them, with their worth there."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from mcp_core.json_types import Json, Schema
from mcp_core.quick_dataclass import dataclass, field
from ot.registry.ranking.words import CHANGING, READING, Stems, read_words

_ACTIONS = READING | CHANGING


@dataclass(frozen=True, slots=True)
class Searchable:
    """One thing that can be found: `key` is what the answer calls it by."""

    key: str
    pack: str
    name: str
    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    reads: bool = False  # it is known to change nothing
    keywords: str = ""  # what people call it

    @classmethod
    def of_schema(
        cls, key: str, pack: str, name: str, description: str, schema: Schema, *, reads: bool = False
    ) -> Searchable:
        """A tool whose parameters are described by a JSON Schema."""
        return cls(key, pack, name, description, read_parameters(schema), reads)

    @classmethod
    def of_tool(cls, tool: Mapping[str, Json]) -> Searchable:
        """A tool as its server lists it: `name`, `description`, `inputSchema`; without a `key`, its name is that."""
        name = str(tool["name"])
        schema = tool.get("inputSchema")
        return cls.of_schema(
            str(tool.get("key", name)),
            str(tool.get("pack", "")),
            name,
            str(tool.get("description") or ""),
            schema if isinstance(schema, Mapping) else {},
        )


def read_parameters(schema: Schema) -> dict[str, str]:
    """Names and descriptions of the parameters in a JSON Schema, which another server may have written badly."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    texts = {name: item.get("description") if isinstance(item, Mapping) else "" for name, item in properties.items()}
    return {str(name): text if isinstance(text, str) else "" for name, text in texts.items()}


# These, and those of the index, lie on a wide plateau of several labelled sets: half or twice of any moves little.
_NAME, _DESCRIPTION, _PARAMETERS, _KEYWORDS = 4.0, 1.0, 0.5, 2.0  # weight of each field
_NAME_LENGTH, _TEXT_LENGTH = 0.75, 0.6  # how much a long field takes from the worth of each of its words
_SATURATION = 2.0
_LONGEST = 10_000  # characters of a text that are read


@dataclass(frozen=True, slots=True)
class Postings:
    """The occurrences of a word: positions of things, its worth there, and the most that it is worth anywhere."""

    positions: array[int]
    worth: array[float]
    most: float


NOWHERE = Postings(array("L"), array("f"), 0.0)


class Occurrences:
    """Every word of every thing. What one is worth is computed when it is asked for: most never are.

    Names count more than descriptions, and rare words more than common ones.
    """

    def __init__(self, things: Sequence[Searchable], stems: Stems) -> None:
        self._among = len(things)
        self._places: dict[str, list[int]] = {}  # by word, once for each occurrence: the number of a field
        self._each: list[float] = []  # by the number of a field: what one occurrence counts in it
        self._known: dict[str, Postings] = {}
        names = [stems.read(thing.name) for thing in things]
        descriptions = [stems.read(thing.description[:_LONGEST]) for thing in things]
        self.changing = [
            position
            for position, thing in enumerate(things)
            if not thing.reads and _changes([*names[position], *descriptions[position][:1]])
        ]
        self._read(names, _NAME, _NAME_LENGTH)
        self._read(descriptions, _DESCRIPTION, _TEXT_LENGTH)
        self._read(
            [stems.read(" ".join(chain(*thing.parameters.items()))[:_LONGEST]) for thing in things],
            _PARAMETERS,
            _TEXT_LENGTH,
        )
        self._read([stems.read(thing.keywords[:_LONGEST]) for thing in things], _KEYWORDS, 0.0)

    def _read(self, texts: list[list[str]], weight: float, by_length: float) -> None:
        """Read one field of all things; its numbers follow those of the fields before, in the order of the things."""
        places = defaultdict(list, self._places)
        usual = sum(map(len, texts)) / max(len(texts), 1) or 1.0
        for number, words in enumerate(texts, len(self._each)):
            for word in words:
                places[word].append(number)
        self._each += [weight / (1 - by_length + by_length * len(words) / usual) for words in texts]
        self._places = dict(places)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def find(self, word: str) -> Postings:
        known = self._known.get(word)
        if known is None:
            if word not in self._places:
                return NOWHERE  # and nothing is kept: whoever asks decides how many such words there are
            known = self._known[word] = self._weigh(Counter(self._places[word]))
        return known

    def _weigh(self, occurrences: Mapping[int, int]) -> Postings:
        frequencies: dict[int, float] = {}
        for number, count in occurrences.items():
            position = number % self._among
            frequencies[position] = frequencies.get(position, 0.0) + self._each[number] * count
        factor = rarity(len(frequencies), self._among) * (_SATURATION + 1)
        return list_places(
            {position: factor * often / (_SATURATION + often) for position, often in frequencies.items()}
        )


def _changes(words: list[str]) -> bool:
    """True if a name, or else the description that follows it, begins with a verb of change."""
    return next((word for word in words if word in _ACTIONS), "") in CHANGING


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
