"""Graphviz sources (DOT) drawn by its own library; runs in a helper process."""

from __future__ import annotations

import html
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ot_packs.diagram.mistake import Mistake, MistakeError

_BEGINNING = re.compile(
    r"^(?:\s|//[^\n]*\n|/\*.*?\*/|#[^\n]*\n)*(?:strict\s+)?(?:di)?graph\b[^{\n]*\{", re.DOTALL | re.I
)
_FAULT = re.compile(r"Error: |improper (?:image|shapefile)=")
_LINK = re.compile(r'href="([^"]*)"')
_LINE = re.compile(r"syntax error in line (\d+)(.*)")


def is_graphviz(source: str) -> bool:
    """True if a source begins as DOT does, and as nothing in Mermaid does."""
    return _BEGINNING.match(source) is not None


def draw_graphviz(source: str, engine: str) -> str:
    """Draw a source as SVG; raises MistakeError with its place."""
    import pygraphviz

    with tempfile.TemporaryFile() as heard:
        drawn, reason = b"", ""
        try:
            with _written_to(heard.fileno()), pygraphviz.AGraph(string=source) as graph:
                drawn = graph.draw(format="svg", prog=engine)
        except (ValueError, OSError, LookupError, pygraphviz.DotError) as error:
            reason = str(error)
        heard.seek(0)
        words = heard.read(10_000).decode(errors="replace")
    if reason or _FAULT.search(words):  # it also draws what it could not understand, without that part
        raise MistakeError(_find_mistake(source, words or reason))
    svg = drawn.decode()
    _check_links(svg)
    return svg


def _check_links(svg: str) -> None:
    """Refuse links that a browser would take for a program, in whatever way they are spelt."""
    for link in _LINK.findall(svg):
        address = "".join(html.unescape(link).split()).lower()
        if ":" in address.split("/")[0] and not address.startswith(("http:", "https:", "mailto:")):
            raise MistakeError(Mistake(None, "", f"the link {address[:100]!r} does not lead to http, https or mailto"))


@contextmanager
def _written_to(descriptor: int) -> Iterator[None]:
    """Lead stderr elsewhere: only there does the library name the line of a mistake."""
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _find_mistake(source: str, words: str) -> Mistake:
    found = _LINE.search(words)
    if found is None or "in label of" in words:  # whose lines are counted from its own beginning
        return Mistake(None, "", " ".join(words.split())[:300])
    lines = source.splitlines()
    line = min(int(found[1]), len(lines))
    return Mistake(line, lines[line - 1] if line else "", f"syntax error{found[2].rstrip()}")
