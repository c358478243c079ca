"""A change to a text as a unified diff, made from the edits themselves: nothing has to be compared."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

_CONTEXT = 3  # lines around a change
_UNFINISHED = "\\ No newline at end of file\n"


class Edit(NamedTuple):
    """New text in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


class _Block(NamedTuple):
    """New lines in place of the old ones from `first` to before `last`."""

    first: int
    last: int
    lines: list[str]


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits, which are in order and do not overlap."""
    pieces, position = [], 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])


def write_patch(path: str, text: str, edits: Sequence[Edit]) -> str:
    """Return the edits of one file as a unified diff that `git apply` takes; empty if nothing changes."""
    lines = _split(text)
    blocks = list(_find_blocks(text, lines, edits))
    if not blocks:
        return ""
    hunks: list[list[_Block]] = [[blocks[0]]]
    for block in blocks[1:]:
        if block.first - hunks[-1][-1].last <= 2 * _CONTEXT:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    moved = 0  # lines by which the new text is longer, before a hunk
    written = [f"--- a/{path}\n+++ b/{path}\n"]
    for hunk in hunks:
        written += _write_hunk(lines, hunk, moved)
        moved += sum(len(block.lines) - (block.last - block.first) for block in hunk)
    return "".join(written)


def _split(text: str) -> list[str]:
    """Split a text at its line feeds only, as diffs do; each line has its own, except perhaps the last."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _find_blocks(text: str, lines: Sequence[str], edits: Sequence[Edit]) -> Iterator[_Block]:
    """Find the lines that change; edits of one line, or of lines next to each other, are one block."""
    starts = [0, *accumulate(map(len, lines))]
    group: list[Edit] = []
    last = -1  # line behind the group
    for edit in edits:
        if group and bisect_right(starts, edit.start) - 1 > last:
            yield from _make_block(text, lines, starts, group)
            group = []
        group.append(edit)
        last = bisect_right(starts, edit.end)
    if group:
        yield from _make_block(text, lines, starts, group)


def _make_block(text: str, lines: Sequence[str], starts: Sequence[int], group: Sequence[Edit]) -> Iterator[_Block]:
    first = min(bisect_right(starts, group[0].start) - 1, max(len(lines) - 1, 0))
    last = min(bisect_right(starts, group[-1].end), len(lines))  # the line behind an edit may become part of another
    begin, end = starts[first], starts[last]
    inner = [Edit(edit.start - begin, edit.end - begin, edit.text) for edit in group]
    old, new = list(lines[first:last]), _split(apply_edits(text[begin:end], inner))
    while old and new and old[0] == new[0]:
        old, new, first = old[1:], new[1:], first + 1
    while old and new and old[-1] == new[-1]:
        old, new, last = old[:-1], new[:-1], last - 1
    if old or new:
        yield _Block(first, last, new)


def _write_hunk(lines: Sequence[str], hunk: Sequence[_Block], moved: int) -> Iterator[str]:
    first = max(hunk[0].first - _CONTEXT, 0)
    last = min(hunk[-1].last + _CONTEXT, len(lines))
    grown = sum(len(block.lines) - (block.last - block.first) for block in hunk)
    yield f"@@ -{_range(first, last - first)} +{_range(first + moved, last - first + grown)} @@\n"
    position = first
    for block in hunk:
        yield from map(_write_line, " " * (block.first - position), lines[position : block.first])
        yield from map(_write_line, "-" * (block.last - block.first), lines[block.first : block.last])
        yield from map(_write_line, "+" * len(block.lines), block.lines)
        position = block.last
    yield from map(_write_line, " " * (last - position), lines[position:last])


def _write_line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_UNFINISHED}"


def _range(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"
