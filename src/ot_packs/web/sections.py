"""The parts of a Markdown text, by their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mcp_core.nearest_names import nearest
from ot.errors import ToolError

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Heading(NamedTuple):
    """A heading: the number of its line from 0, its level, its words."""

    line: int
    level: int
    words: str


def find_section(text: str, wanted: str) -> str:
    """Return the part below a heading, itself included; raises ToolError with the headings there are."""
    lines = text.splitlines()
    headings = list(_headings(lines))
    names = [heading.words for heading in headings]
    begin = _match(names, wanted)
    if begin is None:
        known = ", ".join(repr(name) for name in nearest(wanted, dict.fromkeys(names))[:10]) or "none"
        raise ToolError(f"the page has no section {wanted!r}; the nearest headings: {known}")
    heading = headings[begin]
    end = next((later.line for later in headings[begin + 1 :] if later.level <= heading.level), len(lines))
    return "\n".join(lines[heading.line : end]).strip()


def _match(names: Sequence[str], wanted: str) -> int | None:
    """The heading with exactly these words, else the first that holds them; letters' case does not count."""
    plain = [name.casefold() for name in names]
    word = wanted.strip().lstrip("#").strip().casefold()
    if word in plain:
        return plain.index(word)
    return next((index for index, name in enumerate(plain) if word and word in name), None)


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    fence = ""
    for number, line in enumerate(lines):
        if marker := _FENCE.match(line):
            fence = "" if fence and marker[1].startswith(fence) else fence or marker[1]
        elif not fence and (found := _HEADING.match(line)):
            yield Heading(number, len(found[1]), _LINK.sub(r"\1", found[2]).strip())
