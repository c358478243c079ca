"""An index of tools that ranks them for a request: BM25 over weighted fields, synonyms, packs, and typing mistakes.

A request is ranked need by need, and a tool counts by the need that it meets best, with a little for the rest:
otherwise a tool that shares a word with every part of a request would beat those that do one part of it.
`Search the web for 'rust', then save the titles to notes.md` is two needs, and neither `rust` nor `notes.md` says
anything about the tool. What stands first in a need (the verb and its object) says most, and tells whether somebody
wants to know something or to have something changed.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.registry.ranking.postings import NOWHERE, Postings, Searchable, find_words, list_places, rarity, read_packs
from ot.registry.ranking.words import ACTIONS, CHANGING, READING, SYNONYMS, WEAK, read_words
from ot.store.shelf import Shelf

LONGEST = 4000  # characters of a request that are looked at
MOST = 8  # needs
_LITERAL_WEIGHT = 0.2
_WEAK_WEIGHT = 0.4
_DECAY = 0.1
_QUESTIONS = frozenset(
    {"what", "which", "who", "whose", "when", "where", "how", "is", "are", "was", "were", "do", "does", "did", "has"}
    | {"any", "my", "all", "latest", "last", "recent"}
)
_PARTICIPLES = ("ed", "en")  # `is the door locked` asks for no locking
_TOKEN = re.compile(
    r"""
    (?P<literal>
        (?<!\w) (?: '[^'\n]{1,300}' | "[^"\n]{1,300}" | ‘[^’\n]{1,300}’ | “[^”\n]{1,300}” | `[^`\n]{1,300}` ) (?!\w)
      | \([^()\n]{1,300}\) | \{[^{}]{1,300}\} | \[[^\[\]]{1,300}\]
      | \b[a-z][a-z+.-]{1,20}://\S{1,300}
      | \b[\w-]{1,100}\.[A-Za-z]\w{0,4}\b
    )
  | (?P<word> \w+ )
  | (?P<end> [.;!?](?=\s|\Z) | \n | [—–] )
  | (?P<comma> , )
    """,
    re.VERBOSE,
)
_SYNONYM = 0.5
_WHOLE = 0.25  # worth of the whole request beside its best need
_EVENNESS = 0.75  # 1 makes every need equal, 0 leaves most to the one with the rarest words
_UNASKED_CHANGE = 0.2  # of its score is left to a tool that changes something, where somebody only wants to know
_NEAR = 0.25  # share of the best score below which a thing does not count as found
MOST_NEAR = 300  # things that are found for one need; beyond that nobody counts
_MOST_WORDS = 16  # of a need, those that tell most
_SIMILAR = 0.75  # of an unknown word to the one that may be meant
_PREFIX = 0.7
_MOST_MEANT = 6
_MOST_UNKNOWN = 3  # words of a request that are looked up as misspelled


@dataclass(frozen=True, slots=True)
class Word:
    """One stem of a request and how much it says; `literal` ones are data that the tool is to work on."""

    stem: str
    weight: float
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """The words of one need in order; `reads` if it asks to know something, and for no change."""

    words: list[Word]
    reads: bool = False


def split_needs(request: str) -> list[Need]:
    """Split a request into needs; an empty request has none."""
    needs = list(_read_needs(request[:LONGEST]))
    if all(word.literal for need in needs for word in need.words):  # then it is what is asked for
        needs = [Need([Word(word.stem, 1.0) for word in need.words]) for need in needs]
    if len(needs) <= MOST:
        return needs
    return [*needs[: MOST - 1], Need([word for need in needs[MOST - 1 :] for word in need.words])]


def _read_needs(request: str) -> Iterator[Need]:
    words: list[Word] = []
    spoken: list[str] = []  # the same words as they were written, and those that say nothing about a tool
    place = 0
    joined = False  # behind a comma or an "and", where an action begins another need
    for token in _TOKEN.finditer(request):
        text = token[0]
        if token.lastgroup == "literal":
            words += [Word(word, _LITERAL_WEIGHT, literal=True) for word in read_words(text)]
            continue
        stems = list(read_words(text)) if token.lastgroup == "word" else []
        ends = token.lastgroup == "end" or text.lower() == "then" or (joined and bool(stems) and stems[0] in ACTIONS)
        if ends and words:
            yield Need(words, _asks_to_know(spoken))
            words, spoken, place = [], [], 0
        spoken.append(text.lower())
        for word in stems:
            words.append(Word(word, (_WEAK_WEIGHT if word in WEAK else 1.0) / (1 + _DECAY * place)))
            place += 1
        joined = token.lastgroup == "comma" or text.lower() == "and"
    if words:
        yield Need(words, _asks_to_know(spoken))


def _asks_to_know(spoken: list[str]) -> bool:
    """Go by the first action that is named; a question without any asks to know something."""
    for word in spoken:
        if not word.endswith(_PARTICIPLES):
            stems = set(read_words(word))
            if stems & READING:
                return True
            if stems & CHANGING:
                return False
    return bool(spoken) and spoken[0] in _QUESTIONS


@dataclass(frozen=True, slots=True)
class Hit:
    """A find, and how well it fits: 1 is all that one could ask for."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Every thing's score for one need, the best of them, and how much of the need's words is found at best."""

    scores: list[float]
    most: float
    coverage: float


class ToolIndex:
    """Built once for a set of tools; ranking changes nothing but what it remembers about words."""

    def __init__(self, things: Sequence[Searchable], shelf: Shelf | None = None) -> None:
        self._things = things
        self._postings = find_words(things, shelf)
        self._packs = read_packs(things)
        self._changing = self._postings.changing
        self._meanings: dict[str, Postings] = {}
        self._vocabulary: list[str] = []
        self._rarest = rarity(0, len(things))

    @classmethod
    def of_tools(cls, tools: Iterable[Mapping[str, Json]]) -> ToolIndex:
        """An index of tools as their servers list them, each with its `pack` where it has one."""
        return cls([Searchable.of_tool(tool) for tool in tools])

    @property
    def keys(self) -> list[str]:
        return [thing.key for thing in self._things]

    def rank(self, request: str, *, limit: int | None = None) -> list[Hit]:
        """Return what fits the request, best first; equally good ones in their own order. Nothing fits an empty one."""
        asked = split_needs(request)
        understood = zip(asked, self._understand(asked), strict=True)
        scored = (self._score(words, reads=need.reads) for need, words in understood)
        needs = [ranked for ranked in scored if ranked.most > 0]
        if not needs:
            return []
        scores = _join(needs)
        best, coverage = max(scores.values()), max(need.coverage for need in needs)
        top = sorted(scores, key=scores.__getitem__, reverse=True)[:limit]
        return [Hit(self._things[position].key, min(scores[position] / best * coverage, 1.0)) for position in top]

    def _understand(self, needs: Iterable[Need]) -> Iterable[list[tuple[Postings, float]]]:
        """Each need as places of its words, and their weights; a word counts once in a need."""
        unknown = 0
        for need in needs:
            understood: dict[str, tuple[Postings, float]] = {}
            for number, word in enumerate(need.words):
                postings = self._meaning(word.stem)
                if not postings.positions and not word.literal and unknown < _MOST_UNKNOWN:
                    unknown += 1
                    postings = self._merge(self._meant(word.stem))
                known = understood.get(word.stem)
                if known is None or known[1] < word.weight:
                    understood[word.stem] = (postings, word.weight)
                compound = need.words[number - 1].stem + word.stem if number else ""
                if compound in self._postings or compound in self._packs:
                    understood.setdefault(compound, (self._meaning(compound), word.weight))
            telling = sorted(understood.values(), key=lambda each: -each[1] * (each[0].most or self._rarest))
            yield telling[:_MOST_WORDS]

    def _score(self, words: list[tuple[Postings, float]], *, reads: bool) -> _Ranked:
        """Score every thing for one need; what changes something comes late where somebody only wants to know."""
        scores = [0.0] * len(self._things)
        bound = 0.0
        for postings, weight in words:
            bound += weight * (postings.most or self._rarest)
            for position, worth in zip(postings.positions, postings.worth, strict=True):
                scores[position] += weight * worth
        coverage = max(scores, default=0.0) / (bound or 1.0)
        for position in self._changing if reads else ():
            scores[position] *= _UNASKED_CHANGE
        return _Ranked(scores, max(scores, default=0.0), coverage)

    def _meaning(self, word: str) -> Postings:
        """Return where a word or one of its synonyms occurs, or a pack has its name."""
        known = self._meanings.get(word)
        if known is None:
            factors = {word: 1.0, **dict.fromkeys(SYNONYMS.get(word, ()), _SYNONYM)}
            known = self._merge(factors, rarest=self._rarity(word))
            if known.positions:  # whoever asks decides how many words there are in vain
                self._meanings[word] = known
        return known

    def _meant(self, word: str) -> dict[str, float]:
        """Known words that an unknown one begins or nearly equals, and how near they are."""
        # Loaded by the first typing mistake.
        from rapidfuzz import process  # noqa: PLC0415
        from rapidfuzz.distance import OSA  # noqa: PLC0415

        if len(word) < 3 or not word.isalpha():
            return {}
        if not self._vocabulary:
            self._vocabulary = sorted({*self._postings, *self._packs})
        meant = dict.fromkeys(self._starting(word, _MOST_MEANT), _PREFIX)
        if len(word) >= 4:
            # Nobody mistypes the first two letters both.
            alike = [*self._starting(word[0]), *(self._starting(word[1]) if word[1] != word[0] else ())]
            similar = process.extract(
                word, alike, scorer=OSA.normalized_similarity, score_cutoff=_SIMILAR, limit=_MOST_MEANT
            )
            meant.update({each: max(score, meant.get(each, 0.0)) for each, score, _ in similar})
        return meant

    def _starting(self, beginning: str, most: int | None = None) -> list[str]:
        first = bisect_left(self._vocabulary, beginning)
        last = bisect_left(self._vocabulary, beginning + "\U0010ffff")
        return self._vocabulary[first : last if most is None else min(last, first + most)]

    def _merge(self, factors: Mapping[str, float], *, rarest: float = math.inf) -> Postings:
        """Several words as one: what the best of them is worth in a text, and what packs of their names add."""
        # None counts as rarer than `rarest`: a rare synonym of a common word says no more than the word.
        worth: dict[int, float] = {}
        for word, factor in factors.items():
            postings = self._postings.find(word)
            capped = factor * min(1.0, rarest / self._rarity(word))
            these = dict(zip(postings.positions, [value * capped for value in postings.worth], strict=True))
            these.update({position: max(worth[position], these[position]) for position in worth.keys() & these.keys()})
            worth.update(these)
        for word, factor in factors.items():
            postings = self._packs.get(word, NOWHERE)
            for position, value in zip(postings.positions, postings.worth, strict=True):
                worth[position] = worth.get(position, 0.0) + value * factor
        return list_places(worth)

    def _rarity(self, word: str) -> float:
        return rarity(len(self._postings.find(word).positions), len(self._things))


def _join(needs: list[_Ranked]) -> dict[int, float]:
    """One score for all needs: that of the need which a thing meets best, and a little for all of them."""
    # Only of what comes near the best in one need: the rest is most of all tools, and nobody's answer.
    near = {position for need in needs for position in _near(need)}
    strongest = max(need.most for need in needs)
    factors = [(need.most / strongest) ** (1 - _EVENNESS) / need.most for need in needs]
    columns = {position: [need.scores[position] for need in needs] for position in sorted(near)}
    whole = _WHOLE / max(map(sum, columns.values()))
    return {position: max(map(mul, each, factors)) + whole * sum(each) for position, each in columns.items()}


def _near(need: _Ranked) -> list[int]:
    floor = need.most * _NEAR
    near = [position for position, score in enumerate(need.scores) if score >= floor]
    return near if len(near) <= MOST_NEAR else sorted(near, key=need.scores.__getitem__, reverse=True)[:MOST_NEAR]
