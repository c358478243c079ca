"""Mermaid sources drawn without a browser; runs in a helper process.

`mmdr`, in Rust, takes milliseconds. What it refuses goes to `mermaidx`, which takes a second to start the original
Mermaid: it draws what the first cannot, and otherwise says in which line the mistake is.
"""

from __future__ import annotations

import re

from ot_packs.diagram.mistake import Mistake, MistakeError

_LINE = re.compile(r"(?:Parse|Lexical) error on line (\d+)")


def draw_mermaid(source: str) -> str:
    """Draw a source as SVG; raises MistakeError with its place."""
    import mmdr

    try:
        return str(mmdr.render(source).svg())
    except ValueError as error:
        return _draw_slowly(source, str(error))


def _draw_slowly(source: str, first_reason: str) -> str:
    import mermaidx

    try:
        return str(mermaidx.render(source).svg())
    except RuntimeError as error:
        raise MistakeError(_find_mistake(source, str(error), first_reason)) from error


def _find_mistake(source: str, reason: str, first_reason: str) -> Mistake:
    """Put together the line that the original Mermaid gives and what the other one says, which is shorter."""
    found = _LINE.search(reason)
    lines = source.splitlines()
    line = min(int(found[1]), len(lines)) if found and lines else None
    short = first_reason.partition("): ")[2] or first_reason
    return Mistake(line, lines[line - 1] if line else "", short[:300])
