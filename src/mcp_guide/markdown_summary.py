"""A summary of a Markdown text that has none: its first heading and its first paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_LINES = 200  # looked at; a document that has not come to the point by then has no summary
_LENGTH = 200  # characters of a description

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[#>|<]|[-*+][ \t]|\d+[.)][ \t]|\{[%#{]|[-*_]{3,}\s*$)")


def find_title(body: str) -> str:
    """Return the text of the first heading, empty where there is none."""
    previous = ""
    for line in _prose_lines(body):
        if heading := _HEADING.fullmatch(line):
            return heading["text"].rstrip("# \t")
        if previous.strip() and _UNDERLINE.fullmatch(line) and not _NO_PARAGRAPH.match(previous):
            return previous.strip()
        previous = line
    return ""


def find_description(body: str) -> str:
    """Return the first paragraph in one line, shortened; empty where there is none."""
    paragraph: list[str] = []
    for line in _prose_lines(body):
        if _UNDERLINE.fullmatch(line):
            paragraph.clear()  # what stood before was a heading
        elif not _NO_PARAGRAPH.match(line):
            paragraph.append(line)
        elif paragraph:
            break
    return shorten(" ".join(paragraph))


def shorten(text: str, length: int = _LENGTH) -> str:
    """Put a text on one line of so many characters, cut between words."""
    line = " ".join(text[: length * 4].split())
    if len(line) <= length:
        return line
    return f"{line[:length].rpartition(' ')[0] or line[:length]}…"


def _prose_lines(body: str) -> Iterator[str]:
    """Yield the lines outside of code blocks."""
    fence = ""
    for line in islice(body.splitlines(), _LINES):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line
