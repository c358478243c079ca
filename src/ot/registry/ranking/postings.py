"""Searchable things, and where words occur in them, with their worth there."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import NamedTuple

from mcp_core.json_types import Json, Schema
from mcp_core.quick_dataclass import dataclass, field
from ot.registry.open_results import digest_of
from ot.registry.ranking.words import CHANGING, READING, Stems, read_words
from ot.store.forms import FORM, check_form, read_list, read_number
from ot.store.shelf import Shelf

_ACTIONS = READING | CHANGING
# These, and those of the index, lie on a wide plateau of several labelled sets: half or twice of any moves little.
_NAME, _DESCRIPTION, _PARAMETERS, _KEYWORDS = 4.0, 1.0, 0.5, 2.0  # weight of each field
_NAME_LENGTH, _TEXT_LENGTH = 0.75, 0.6  # how much a long field takes from the worth of each of its words
_SATURATION = 2.0
_LONGEST = 10_000  # characters of a text that are read
_MANY = 2_000  # things; fewer are read in a tenth of a second
_FORM = 1
_STALE = 30 * 24 * 3600.0  # seconds
_READERS = [Path(__file__).with_name(name) for name in ("postings.py", "vocabulary.txt", "words.py")]


class Searchable(NamedTuple):
    """One thing that can be found: `key` is what the answer calls it by."""

    key: str
    pack: str
    name: str
    description: str = ""
    parameters: str = ""  # their names and descriptions
    reads: bool = False  # it is known to change nothing
    keywords: str = ""  # what people call it

    @classmethod
    def of_tool(cls, tool: Mapping[str, Json]) -> Searchable:
        """A tool as its server lists it: `name`, `description`, `inputSchema`; without a `key`, its name is that."""
        name, schema = str(tool["name"]), tool.get("inputSchema")
        parameters = read_parameters(schema) if isinstance(schema, Mapping) else ""
        key, pack = str(tool.get("key", name)), str(tool.get("pack", ""))
        return cls(key, pack, name, str(tool.get("description") or ""), parameters)


def read_parameters(schema: Schema) -> str:
    """Names and descriptions of the parameters in a JSON Schema, which another server may have written badly."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    texts = ((name, item.get("description") if isinstance(item, Mapping) else "") for name, item in properties.items())
    return " ".join(f"{name} {text if isinstance(text, str) else ''}" for name, text in texts)


@dataclass(frozen=True, slots=True)
class Postings:
    """The occurrences of a word: positions of things, its worth there, and the most that it is worth anywhere."""

    positions: array[int]
    worth: array[float]
    most: float


NOWHERE = Postings(array("L"), array("f"), 0.0)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every word of every thing. What one is worth is computed when it is asked for: most never are."""

    among: int
    words: Mapping[str, int]  # each with its number
    ends: array[int]  # by the number of a word: where its places end, and those of the next one begin
    places: array[int]  # of all words, once for each occurrence: the number of a field
    each: array[float]  # by the number of a field: what one occurrence counts in it
    changing: array[int]  # positions of things that change something
    known: dict[str, Postings] = field(default_factory=dict)

    @classmethod
    def of(cls, things: Sequence[Searchable]) -> Occurrences:
        """Read all things, field by field; the numbers of a field follow those of the field before."""
        stems, each, places = Stems(), array("d"), defaultdict[str, list[int]](list)
        names = [stems.read(thing.name) for thing in things]
        descriptions = [stems.read(thing.description[:_LONGEST]) for thing in things]
        fields = (
            (names, _NAME, _NAME_LENGTH),
            (descriptions, _DESCRIPTION, _TEXT_LENGTH),
            ([stems.read(thing.parameters[:_LONGEST]) for thing in things], _PARAMETERS, _TEXT_LENGTH),
            ([stems.read(thing.keywords[:_LONGEST]) for thing in things], _KEYWORDS, 0.0),
        )
        for texts, weight, by_length in fields:
            usual = sum(map(len, texts)) / max(len(texts), 1) or 1.0
            for number, words in enumerate(texts, len(each)):
                for word in words:
                    places[word].append(number)
            each.extend(weight / (1 - by_length + by_length * len(words) / usual) for words in texts)
        changing = (
            position
            for position, thing in enumerate(things)
            if not thing.reads and _changes([*names[position], *descriptions[position][:1]])
        )
        numbers = {word: number for number, word in enumerate(places)}
        ends = array("I", accumulate(map(len, places.values())))
        listed = array("I", chain.from_iterable(places.values()))
        return cls(len(things), numbers, ends, listed, each, array("I", changing))

    def store(self, key: str) -> bytes:
        """Write it down, for `restore`: a line about what follows, then that."""
        numbers = (self.ends, self.places, self.each, self.changing)
        parts = ["\n".join(self.words).encode("utf-8", "surrogatepass"), *(each.tobytes() for each in numbers)]
        content = b"".join(parts)
        facts = {FORM: _FORM, "key": key, "digest": _digest(content), "sizes": [*map(len, parts)]}
        return json.dumps(facts).encode() + b"\n" + content

    @classmethod
    def restore(cls, stored: bytes, key: str, among: int) -> Occurrences:
        """Read what was stored under this key; raises ValueError if it is not that, or damaged."""
        head, _, content = stored.partition(b"\n")
        facts = check_form(json.loads(head), _FORM)
        if facts["key"] != key or facts["digest"] != _digest(content):
            raise ValueError("it is out of date, or damaged")
        cuts = [0, *accumulate(int(read_number(size)) for size in read_list(facts["sizes"]))]
        words, ends, places, each, changing = (content[begin:end] for begin, end in pairwise(cuts))
        listed = words.decode("utf-8", "surrogatepass").split("\n")
        numbers = {word: number for number, word in enumerate(listed)}
        return cls(among, numbers, array("I", ends), array("I", places), array("d", each), array("I", changing))

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def find(self, word: str) -> Postings:
        known = self.known.get(word)
        if known is not None:
            return known
        number = self.words.get(word)
        if number is None:
            return NOWHERE  # and nothing is kept: whoever asks decides how many such words there are
        begin = self.ends[number - 1] if number else 0
        frequencies: dict[int, float] = {}
        for field_number, count in Counter(self.places[begin : self.ends[number]]).items():
            position = field_number % self.among
            frequencies[position] = frequencies.get(position, 0.0) + self.each[field_number] * count
        factor = rarity(len(frequencies), self.among) * (_SATURATION + 1)
        worth = {position: factor * often / (_SATURATION + often) for position, often in frequencies.items()}
        known = self.known[word] = list_places(worth)
        return known


def find_words(things: Sequence[Searchable], shelf: Shelf | None) -> Occurrences:
    """Return where words occur in things; of many, that is kept on a shelf: thousands of tools take seconds to read."""
    if shelf is None or len(things) < _MANY:
        return Occurrences.of(things)
    name = f"{digest_of(sorted({thing.pack for thing in things}))}.words"  # of each set of packs there is one
    key = digest_of(things, [_digest(file.read_bytes()) for file in _READERS], sys.version, sys.byteorder)
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        return Occurrences.restore(shelf.read(name), key, len(things))
    found = Occurrences.of(things)
    with suppress(OSError):
        shelf.write(name, found.store(key))
        shelf.forget_unused("*.words", seconds=_STALE)
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
