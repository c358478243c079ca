"""The words of source code: identifiers fall into their parts, so that `header` finds `parseHeader`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MOST_TERMS = 24  # of one query
_LONGEST = 60  # characters of a word
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = re.compile(r"(?:ings?|ed|es|s|e)$")


def split_humps(text: str) -> str:
    """Return the text with a space wherever a word begins inside an identifier."""
    return _HUMP.sub(" ", text)


Term = tuple[str, ...]
"""A term of a query in its parts: `parseHeader` is parse and header."""


def read_query(query: str) -> list[Term]:
    """Return the terms of a query: plain words, whatever else stands between them."""
    terms = (tuple(part[:_LONGEST].lower() for part in _parts(term)) for term in query.split())
    return list(dict.fromkeys(term for term in terms if term))[:MOST_TERMS]


def expression_of(term: Term) -> str:
    """Write a term as an expression of FTS5: its parts, next to each other."""
    return '"' + " ".join(term) + '"'  # letters and digits only: nothing in it is syntax


def line_pattern(terms: Iterable[Term]) -> re.Pattern[str]:
    """Return a pattern for the words of a query in plain text, without regard to their endings."""
    words = sorted({_stem(part) for term in terms for part in term}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE)


def _parts(term: str) -> Iterator[str]:
    return (found[0] for found in _WORD.finditer(split_humps(term)))


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word) if len(word) > 4 else word
