"""The words of source code: identifiers fall into their parts, so that `header` finds `parseHeader`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ot_packs.full_text import Term

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS = re.compile(r"(?:ings?|ed|es|s|e)$")


def split_humps(text: str) -> str:
    """Return the text with a space wherever a word begins inside an identifier."""
    return _HUMP.sub(" ", text)


def stems_of(terms: Iterable[Term]) -> set[str]:
    """Return the words of a query as they are looked for in lines: small, and without their endings."""
    return {_stem(part) for term in terms for part in term}


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word) if len(word) > 4 else word
