"""Names ordered by how near they are to the one that was meant."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from difflib import SequenceMatcher

_JOINTS = str.maketrans("", "", "_- ")
_LONGEST = 200  # characters of a name that somebody meant: more of them say nothing, and take time by their square
_COMPARED = 50  # names that are compared letter by letter, which takes a tenth of a millisecond each


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Return all names, the nearest first, then alphabetically; case, `_`, `-` and spaces do not count."""
    plain = _plain(wanted[:_LONGEST])
    pieces = {*plain, *map("".join, pairwise(plain))}
    matcher = _match("", plain)

    def shares(name: str) -> int:
        return sum(map(name.lower().replace("_", "").__contains__, pieces))

    def distance(name: str) -> tuple[float, str]:
        other = _plain(name)
        matcher.set_seq1(other)
        longest = matcher.find_longest_match().size
        contained = longest / min(len(plain), len(other)) if longest else 0.0
        return (-(matcher.ratio() + contained), name)

    # First by the letters, and pairs of letters, that are in both, which is quick for thousands.
    ordered = sorted(names, key=lambda name: (-shares(name), name))
    return sorted(ordered[:_COMPARED], key=distance) + ordered[_COMPARED:]


def likeness(wanted: str, name: str) -> float:
    return _match(_plain(wanted), _plain(name)).ratio()


def _match(one: str, other: str) -> SequenceMatcher[str]:
    from difflib import SequenceMatcher  # noqa: PLC0415 - only whoever has mistaken a name waits for it

    return SequenceMatcher(None, one, other, autojunk=False)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().translate(_JOINTS)
