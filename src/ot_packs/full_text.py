"""Queries in plain words for SQLite's full text search, whose own syntax nobody who searches has to know."""

from __future__ import annotations

import re
from collections.abc import Callable

TOKENS = "porter unicode61 remove_diacritics 2"
"""How texts fall into words: without regard to case, accents and English endings."""

MOST_TERMS = 24  # of one query
_LONGEST = 60  # characters of a word

Term = tuple[str, ...]
"""A term of a query in its parts: `parse_header` is parse and header."""


def read_query(query: str, split: Callable[[str], str] = str) -> list[Term]:
    """Return the terms of a query: plain words, whatever else stands between them; `split` takes words apart."""
    terms = (tuple(part[:_LONGEST].lower() for part in re.findall(r"[^\W_]+", split(term))) for term in query.split())
    return list(dict.fromkeys(term for term in terms if term))[:MOST_TERMS]


def expression_of(term: Term) -> str:
    """Write a term as an expression of FTS5: its parts, next to each other."""
    return '"' + " ".join(term) + '"'  # letters and digits only: nothing in it is syntax
