"""The search for documents: those that have its words, the best first."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mcp_guide.documents import Document
from mcp_guide.markdown_summary import shorten

_WORD = re.compile(r"[^\W_]+")
_WORDS = 32  # of a search; more say no more
_LINE = 160  # characters


class Match(NamedTuple):
    """The weight of each word of a search in one document, and the first line of its body that has one of them."""

    weights: tuple[float, ...]
    line: str


class Search:
    """The words to look for; part of a longer word counts, and case does not."""

    def __init__(self, text: str) -> None:
        words = (word for word in _WORD.findall(text.casefold()) if len(word) > 1 or not word.isascii())
        self._words = tuple(dict.fromkeys(map(_stem, words)))[:_WORDS]

    def judge(self, document: Document) -> Match | None:
        """Return the match of one document, None where it has none of the words."""
        body = document.body.casefold()
        weights = tuple(_weigh(word, document, body) for word in self._words)
        return Match(weights, self._find_line(document.body)) if any(weights) else None

    def score(self, matches: Sequence[Match]) -> list[float]:
        """Score all matches of a search: a word that few documents have says more, and so does having more words."""
        columns = list(zip(*(match.weights for match in matches), strict=True))
        rarity = [math.log(1 + len(matches) / max(1, sum(map(bool, column)))) for column in columns]
        return [_score(match.weights, rarity) for match in matches]

    def _find_line(self, body: str) -> str:
        for line in body.splitlines():
            folded = line.casefold()
            if any(word in folded for word in self._words):
                return shorten(line, _LINE)
        return ""


def _stem(word: str) -> str:
    """Let "tests" find "testing": the plural is the one ending worth the trouble."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


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
