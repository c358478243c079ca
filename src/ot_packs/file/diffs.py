"""Short diffs: what a change did to a text, in a few lines that a person or a model reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_LINES = 80  # of a diff
_LONGEST = 300  # characters of a line of it
_CONTEXT = 2
_MOST_COMPARED = 400  # lines on either side: difflib takes the square of it, at worst its cube


@dataclass(frozen=True, slots=True)
class Diff:
    """Lines that came and went, and the beginning of the unified diff."""

    added: int
    removed: int
    text: str


def compare(before: Sequence[str], after: Sequence[str]) -> Diff:
    """Compare two texts by lines; where too much differs to look for what is alike, all of it came and went."""
    start = _count_alike(before, after)
    end = _count_alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    groups = _compare_closely(old, new) if max(len(old), len(new)) <= _MOST_COMPARED else [[(0, len(old), 0, len(new))]]
    blocks = [[(a + start, b + start, c + start, d + start) for a, b, c, d in group] for group in groups]
    added = sum(d - c for group in blocks for _, _, c, d in group)
    removed = sum(b - a for group in blocks for a, b, _, _ in group)
    lines = [line for group in blocks for line in _word_group(group, before, after)]
    return Diff(added, removed, _shorten(lines))


Block = tuple[int, int, int, int]
"""Where lines went, and where others came: from and to in the old text, from and to in the new one."""


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compare_closely(old: Sequence[str], new: Sequence[str]) -> list[list[Block]]:
    """Return the differing blocks, those that stand close together in one group."""
    found = difflib.SequenceMatcher(None, old, new).get_opcodes()
    groups: list[list[Block]] = []
    for tag, a, b, c, d in found:
        if tag == "equal":
            continue
        if groups and a - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append((a, b, c, d))
        else:
            groups.append([(a, b, c, d)])
    return groups


def _word_group(group: Sequence[Block], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if not any(b > a or d > c for a, b, c, d in group):
        return
    top, bottom = group[0], group[-1]
    lead = min(_CONTEXT, top[0])
    tail = min(_CONTEXT, len(before) - bottom[1])
    old = (top[0] - lead, bottom[1] + tail)
    new = (top[2] - lead, bottom[3] + tail)
    yield f"@@ -{_range(*old)} +{_range(*new)} @@"
    yield from (f" {line}" for line in before[old[0] : top[0]])
    for index, (a, b, c, d) in enumerate(group):
        yield from (f"-{line}" for line in before[a:b])
        yield from (f"+{line}" for line in after[c:d])
        following = group[index + 1][0] if index + 1 < len(group) else old[1]
        yield from (f" {line}" for line in before[b:following])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _shorten(lines: Sequence[str]) -> str:
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"… {len(lines) - MOST_LINES:,} more lines of this diff")
    return "\n".join(shown)
