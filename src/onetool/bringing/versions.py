"""Versions compared, as far as npm and Python agree on them: numbers first, and what precedes a release before it."""

from __future__ import annotations

import re

_PARTS = re.compile(r"\d+|[a-z]+", re.IGNORECASE)


def is_newer(version: str, known: str) -> bool:
    return _key(version) > _key(known)


def _key(version: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    release = re.match(r"[0-9.]*", version)
    text = release[0] if release else ""
    numbers = [int(number) for number in text.split(".") if number]
    while numbers and not numbers[-1]:
        numbers.pop()  # 1.0 is 1
    rest = version[len(text) :].partition("+")[0].lower()
    after = rest.lstrip(".-_").startswith("post")
    parts = [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in _PARTS.findall(rest)]
    return numbers, not rest or after, parts
