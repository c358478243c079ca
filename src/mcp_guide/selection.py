"""Selecting documents by category, by collection, by pattern, by words (the best first), or by several of these."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from pydantic import Field

from mcp_core import ToolArguments
from mcp_core.quick_dataclass import dataclass, field
from mcp_guide.documents import Document, Summary, Unreadable, shorten
from mcp_guide.guide import Guide
from mcp_guide.names import DocumentName, check_name

_WORD = re.compile(r"[^\W_]+")
_WORDS = 32  # of a search; more say no more
_LINE = 160  # characters


class Match(NamedTuple):
    weights: tuple[float, ...]  # of each word of a search
    line: str  # the first of the body that has one of them


class Search:
    """The words to look for; part of a longer word counts, and case does not."""

    def __init__(self, text: str) -> None:
        words = (word for word in _WORD.findall(text.casefold()) if len(word) > 1 or not word.isascii())
        # Let "tests" find "testing": the plural is the one ending worth the trouble.
        stems = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
        self._words = tuple(dict.fromkeys(stems))[:_WORDS]

    def judge(self, document: Document) -> Match | None:
        """Return the match of one document, None where it has none of the words."""
        body = document.body.casefold()
        weights = tuple(_weigh(word, document, body) for word in self._words)
        if not any(weights):
            return None
        lines = document.body.splitlines()
        found = (line for line in lines if any(word in line.casefold() for word in self._words))
        return Match(weights, shorten(next(found, ""), _LINE))

    def score(self, matches: Sequence[Match]) -> list[float]:
        """Score all matches of a search: a word that few documents have says more, and so does having more words."""
        columns = list(zip(*(match.weights for match in matches), strict=True))
        rarity = [math.log(1 + len(matches) / max(1, sum(map(bool, column)))) for column in columns]
        return [_score(match.weights, rarity) for match in matches]


def _weigh(word: str, document: Document, body: str) -> float:
    """Weigh a word: most in title and name, then in tags, then in the description, and least in the body."""
    summary = document.summary
    in_title = word in f"{summary.title} {summary.name}".casefold()
    in_tags = any(word in tag.casefold() for tag in summary.tags)
    in_description = word in summary.description.casefold()
    return 8 * in_title + 4 * in_tags + 3 * in_description + math.log2(1 + body.count(word))


def _score(weights: Sequence[float], rarity: Sequence[float]) -> float:
    present = sum(rare for weight, rare in zip(weights, rarity, strict=True) if weight)
    return sum(map(math.prod, zip(weights, rarity, strict=True))) * present / sum(rarity)


class Wish(ToolArguments):
    """The documents that a caller wants; every part that is given must fit."""

    category: str | None = Field(default=None, description="Only documents of this category")
    collection: str | None = Field(default=None, description="Only documents of the categories in this collection")
    pattern: str | None = Field(
        default=None, max_length=200, description="Only names that match this pattern, such as api/* or *test*"
    )
    search: str | None = Field(
        default=None, max_length=1000, description="Words to look for in title, tags, description and text"
    )

    @property
    def is_open(self) -> bool:
        return self.category is self.collection is self.pattern is self.search is None


@dataclass(slots=True)
class Selection:
    """The documents that fit, the best first in a search and by name otherwise, and those that cannot be read."""

    found: list[tuple[Summary, Match | None]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def select(guide: Guide, wish: Wish) -> Selection:
    """Find the documents that somebody wishes for; raises NotFoundError for a category or collection."""
    search = Search(wish.search) if wish.search else None
    selection = Selection()
    known = guide.collections.read(wish.collection)["categories"] if wish.collection else guide.folder.category_names()
    if wish.category is not None and wish.collection is None:
        known = [check_name("category", wish.category)]
    for category in known:
        for found in guide.documents.walk(category) if wish.category in (None, category) else ():
            name = found.name if isinstance(found, Unreadable) else found.summary.name
            if wish.pattern is not None and not _fits(name, wish.pattern):
                continue
            if isinstance(found, Unreadable):
                selection.unreadable.append(found)
            elif search is None:
                selection.found.append((found.summary, None))
            elif (match := search.judge(found)) is not None:
                selection.found.append((found.summary, match))
    if search is not None:
        scores = search.score([match for _, match in selection.found if match is not None])
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        selection.found = [selection.found[index] for index in order]
    return selection


def _fits(name: DocumentName, pattern: str) -> bool:
    """Compare with `category/name` where the pattern has a slash, else with the name alone; case does not count."""
    whole = str(name) if "/" in pattern else name.name
    return fnmatchcase(whole.casefold(), pattern.removesuffix(".md").casefold())
