"""The text in place of a result that is too long to show: its handle, its size, how it begins, how to read on."""

from __future__ import annotations

from itertools import islice

from ot.results.store import Stored
from ot.text.output import escape_surrogates, render, render_lines
from ot.values import ToolValue
from ot_kernel.stored_form import TEXT

MOST_BYTES = 4_000  # of the whole text
_FOR_WORDS = 700  # of them
_MOST_LINES = 200


def word_stored(stored: Stored, head: ToolValue, *, partial: bool = False) -> str:
    """The text for a stored result; `head` is the value, or `partial`: as much of its beginning as is at hand."""
    facts, handle = stored.facts, stored.handle
    lines, whole = _take(head, MOST_BYTES - _FOR_WORDS, partial=partial)
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


def _take(head: ToolValue, room: int, *, partial: bool) -> tuple[list[str], int]:
    """Lines from the beginning within so many bytes, and how many of them are whole; 0 for a part of the first.

    Where something was left off, the last line may be half of one: it is shown only if there is no other.
    """
    found = [escape_surrogates(line) for line in islice(render_lines(head, limit=MOST_BYTES), _MOST_LINES + 1)]
    left_off = partial or len(found) > _MOST_LINES or sum(map(len, found)) >= MOST_BYTES
    sure = found[:-1] if left_off else found
    taken: list[str] = []
    for line in sure:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        taken.append(line)
    if taken or not found:
        return taken, len(taken)
    return [cut_bytes(found[0], MOST_BYTES - _FOR_WORDS) + "…"], 0


def cut_bytes(text: str, size: int) -> str:
    """The beginning of a text within so many bytes of UTF-8."""
    return text.encode()[:size].decode("utf-8", "ignore")


def _duration(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size, 1)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
