"""Unified diffs, made from the blocks of lines that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Block(NamedTuple):
    """New lines in place of the old ones from `first` to before `last`."""

    first: int
    last: int
    lines: Sequence[str]


def split_at_line_feeds(text: str) -> list[str]:
    """Split a text at its line feeds only, as diffs do; each line has its own, except perhaps the last."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def write_hunks(lines: Sequence[str], blocks: Iterable[Block], *, context: int) -> Iterator[str]:
    """Yield the lines of a diff: a header, which alone begins with `@@`, for all blocks that are close together."""
    hunks: list[list[Block]] = []
    for block in blocks:
        if hunks and block.first - hunks[-1][-1].last <= 2 * context:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    moved = 0  # lines by which the new text is longer, before a hunk
    for hunk in hunks:
        first, last = max(hunk[0].first - context, 0), min(hunk[-1].last + context, len(lines))
        grown = sum(len(block.lines) - (block.last - block.first) for block in hunk)
        yield f"@@ -{_range(first, last - first)} +{_range(first + moved, last - first + grown)} @@"
        position = first
        for block in hunk:
            yield from (f" {line}" for line in lines[position : block.first])
            yield from (f"-{line}" for line in lines[block.first : block.last])
            yield from (f"+{line}" for line in block.lines)
            position = block.last
        yield from (f" {line}" for line in lines[position:last])
        moved += grown


def _range(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"
