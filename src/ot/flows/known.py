"""Values that belong to the person: `policy.known`, and what of a text is left without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

Own = Callable[[str], bool]
"""True for a text that belongs to the person, and is no trace of anybody else."""

_WILD = re.compile(r"(\*|\?|\[!?\]?[^\]]*\])")
_ANYTHING = r"[^\s,;<>\"'`|\x00-\x20\x7f]"  # of one value: what separates values is none
_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+")  # no route, no comment, nothing quoted, one host
_DIGITS = re.compile(r"\+?[\d ()/.-]+")
_GROUPING = re.compile(r"[ \u00a0\u202f()/.-]")
_ACCOUNT = re.compile(
    r"(?<!\w)[A-Z]{2}\d{2}(?:[ \u00a0\u202f-]?[A-Z0-9]{4}){2,7}(?:[ \u00a0\u202f-]?[A-Z0-9]{1,3})?(?!\w)"
)
_CHUNK = re.compile(r"[^\s,;]+")
_AROUND = "<>()[]\"'`.:!?"


def own_values(patterns: Iterable[str]) -> Own | None:
    """Return what tells the person's own values by these shell patterns; None where there are none."""
    compiled = [(_compile(pattern.casefold()), "@" in pattern, not _WILD.search(pattern)) for pattern in patterns]
    return partial(_is_own, compiled) if compiled else None


def without_own(text: str, own: Own) -> str:
    """Return a text without the values in it that are the person's own."""
    if own(text):
        return ""
    text = _ACCOUNT.sub(lambda found: " " if own(found[0]) else found[0], text)
    return _CHUNK.sub(lambda found: " " if own(found[0].strip(_AROUND).removeprefix("mailto:")) else found[0], text)


def _is_own(patterns: Iterable[tuple[re.Pattern[str], bool, bool]], text: str) -> bool:
    """True if a whole text fits a pattern: one of addresses as one plain address, one of numbers also in groups."""
    text = text.strip(" ").casefold()
    for pattern, is_address, exact in patterns:
        if is_address and _PLAIN_ADDRESS.fullmatch(text) is None and not exact:
            continue
        if pattern.fullmatch(text) is not None:
            return True
        in_groups = not is_address and (exact or _DIGITS.fullmatch(text) is not None or _is_account(text))
        if in_groups and pattern.fullmatch(_GROUPING.sub("", text)) is not None:
            return True
    return False


def _compile(pattern: str) -> re.Pattern[str]:
    pieces = _WILD.split(pattern)
    bare = "@" not in pattern and not any(piece[:1] == "[" for piece in pieces[1::2])
    said = ""
    for place, piece in enumerate(pieces):
        if place % 2 == 0:
            said += re.escape(_GROUPING.sub("", piece) if bare and _is_number(pattern) else piece)
        elif piece in ("*", "?"):
            said += f"{_ANYTHING}*" if piece == "*" else _ANYTHING
        else:
            said += (
                f"[{'^' if piece[1] == '!' else ''}{re.escape(piece[1:-1].lstrip('!')).replace(chr(92) + '-', '-')}]"
            )
    return re.compile(said)


def _is_number(pattern: str) -> bool:
    """True for patterns of numbers and accounts, which are written in groups."""
    return any(map(str.isdigit, pattern)) and _WILD.sub("", _GROUPING.sub("", pattern)).removeprefix("+").isalnum()


def _is_account(text: str) -> bool:
    """True for an account number whose check digits are right (ISO 13616)."""
    bare = _GROUPING.sub("", text)
    if not 15 <= len(bare) <= 34 or not bare.isascii() or not bare.isalnum() or not bare[2:4].isdecimal():
        return False
    return int("".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4])) % 97 == 1
