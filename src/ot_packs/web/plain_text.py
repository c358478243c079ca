"""The text of a page without its shape, read from beginning to end: no page is nested too deeply for it."""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser

_UNSEEN = {"script", "style", "template", "noscript"}


def read_text(html: str) -> str:
    """Return the words that a reader would see, a line for each piece."""
    reader = _TextReader()
    reader.feed(html)
    reader.close()
    return join_lines(reader.pieces)


def join_lines(pieces: Iterable[str]) -> str:
    """Return pieces of text as lines, without blanks that mean nothing."""
    lines = (" ".join(line.split()) for line in "\n".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and tag in _UNSEEN:
            self._unseen = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data)
