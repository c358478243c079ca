"""The text in place of a result that is too long to show: its handle, its size, how it begins, how to read on."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ot.output import escape_surrogates, render, render_lines
from ot.results.store import Stored
from ot_kernel.stored_form import TEXT

MOST_BYTES = 4_000  # of the whole text
_FOR_WORDS = 700  # of them
_MOST_LINES = 200


def word_stored(stored: Stored, head: Any, *, redact: Any = escape_surrogates) -> str:
    """The text for a stored result; `head` is the value, or as much of its beginning as is at hand."""
    room = MOST_BYTES - _FOR_WORDS
    lines, whole = _take(redact, head, room, stored)
    facts, handle = stored.facts, stored.handle
    first = {"handle": handle, "type": facts.what, "size": facts.size, "lines": facts.lines}
    if whole:
        shown = f"{'Line 1' if whole == 1 else f'Lines 1-{whole}'} of {facts.lines:,}"
        read_on = f'ot.result(handle="{handle}", offset={whole + 1})'
    else:
        shown = f"The beginning of line 1 of {facts.lines:,}"
        read_on = f'ot.result(handle="{handle}")'
    more = "" if facts.kind == TEXT else ', path="..." selects a part'
    note = (
        f'[{shown}. Read on: {read_on}; search="regex" finds lines{more}. '
        f'In code: ot.load(handle="{handle}"). Kept for {_duration(facts.expires - facts.created)}.]'
    )
    return "\n".join([render(first).text, *lines, note])


def _take(redact: Any, head: Any, room: int, stored: Stored) -> tuple[list[str], int]:
    """Lines from the beginning within so many bytes, and how many of them are whole; 0 for a part of the first."""
    lines = [redact(line) for line in islice(render_lines(head, limit=MOST_BYTES), _MOST_LINES + 1)]
    if len(lines) < stored.facts.lines and len(lines) > 1:
        lines.pop()  # the head may end in the middle of it
    taken: list[str] = []
    for line in lines:
        size = len(line.encode()) + 1
        if size > room:
            break
        taken.append(line)
        room -= size
    whole = len(taken) if len(lines) > 1 or stored.facts.lines == len(taken) else 0
    if not taken or (len(lines) == 1 and not whole):
        return [cut_bytes(lines[0], room) + "…"], 0
    return taken, whole


def cut_bytes(text: str, size: int) -> str:
    """The beginning of a text within so many bytes of UTF-8."""
    return text.encode()[:size].decode("utf-8", "ignore")


def _duration(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size, 1)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
