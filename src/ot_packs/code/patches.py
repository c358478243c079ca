"""A rewrite of a text: replacements filled in, and a diff made from the edits, so that nothing is compared.

Also the answers of `matching`, as they cross from the helper process: for one batch of files each.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, NamedTuple, TypedDict, TypeVar

from ot.errors import ToolError
from ot_packs.unified_diff import Block, split_at_line_feeds, write_hunks

if TYPE_CHECKING:
    from ast_grep_py import SgNode

METAVARIABLE = re.compile(r"(\$\$\$|\$)([A-Z][A-Z0-9_]*)")
Item = TypeVar("Item")


class Edit(NamedTuple):
    """New text in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits, which are in order and do not overlap."""
    pieces, position = [], 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])


def write_patch(path: str, text: str, edits: Sequence[Edit]) -> str:
    """Return the edits of one file as a unified diff that `git apply` takes; empty if nothing changes."""
    lines = split_at_line_feeds(text)
    blocks = list(_find_blocks(text, lines, edits))
    if not blocks:
        return ""
    written = [f"--- a/{path}\n+++ b/{path}\n"]
    for line in write_hunks(lines, blocks, context=3):  # lines around a change
        whole = line if line.endswith("\n") else f"{line}\n"
        written.append(whole if line is whole or line.startswith("@@") else whole + "\\ No newline at end of file\n")
    return "".join(written)


def _find_blocks(text: str, lines: Sequence[str], edits: Sequence[Edit]) -> Iterator[Block]:
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


def _make_block(text: str, lines: Sequence[str], starts: Sequence[int], group: Sequence[Edit]) -> Iterator[Block]:
    first = min(bisect_right(starts, group[0].start) - 1, max(len(lines) - 1, 0))
    last = min(bisect_right(starts, group[-1].end), len(lines))  # the line behind an edit may become part of another
    begin, end = starts[first], starts[last]
    inner = [Edit(edit.start - begin, edit.end - begin, edit.text) for edit in group]
    old, new = list(lines[first:last]), split_at_line_feeds(apply_edits(text[begin:end], inner))
    while old and new and old[0] == new[0]:
        old, new, first = old[1:], new[1:], first + 1
    while old and new and old[-1] == new[-1]:
        old, new, last = old[:-1], new[:-1], last - 1
    if old or new:
        yield Block(first, last, new)


class Template:
    def __init__(self, text: str, known: Collection[str]) -> None:
        self._lines = text.split("\n")
        self.names = [(name, kind == "$$$") for kind, name in dict.fromkeys(METAVARIABLE.findall(text))]
        for name, _ in self.names:
            if name not in known:
                raise ToolError(
                    f"the replacement uses ${name}, which is not in the pattern; the pattern's names are "
                    f"{', '.join(f'${each}' for each in sorted(known)) or 'none'}"
                )

    def fill(self, text: str, start: int, nodes: Mapping[str, Sequence[SgNode]]) -> str:
        """Write the replacement of a match that starts at a character of a text; its lines go as deep as the match."""
        depth = _depth_at(text, start)
        written = []
        for number, line in enumerate(self._lines):
            deeper = depth + _blank(line) if number else depth

            def insert(found: re.Match[str], deeper: str = deeper) -> str:
                return _write_nodes(text, nodes[found[2]], deeper)

            filled = METAVARIABLE.sub(insert, line)
            written.append(depth + filled if number and filled else filled)
        return "\n".join(written)


def _write_nodes(text: str, nodes: Sequence[SgNode], depth: str) -> str:
    """Write captured nodes with what stands between them; their further lines move to where the first one goes."""
    if not nodes:
        return ""
    first, last = nodes[0].range().start, nodes[-1].range().end
    captured = text[first.index : last.index]
    before = _depth_at(text, first.index)
    if before == depth or "\n" not in captured:
        return captured
    fixed = {line for node in nodes for line in _lines_of_texts(node)}
    lines = captured.split("\n")
    moved = [
        depth + line.removeprefix(before) if line.startswith(before) and line and number not in fixed else line
        for number, line in enumerate(lines[1:], first.line + 1)
    ]
    return "\n".join([lines[0], *moved])


def _lines_of_texts(node: SgNode) -> Iterator[int]:
    """Yield the lines that begin inside of a string: what is in there stays as it is."""
    place = node.range()
    if place.start.line == place.end.line:
        return
    if any(word in node.kind() for word in ("string", "heredoc", "template", "raw")):
        yield from range(place.start.line + 1, place.end.line + 1)
        return
    for child in node.children():
        yield from _lines_of_texts(child)


def _depth_at(text: str, index: int) -> str:
    """Return the blanks that the line of a character begins with."""
    return _blank(text[text.rfind("\n", 0, index) + 1 : index])


def _blank(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


class Batch(TypedDict, Generic[Item]):
    """Items found in a batch, at most as many as are wanted; `unread` are files that could not be parsed."""

    found: list[Item]
    total: int
    unread: list[str]
    incomplete: bool  # the pattern alone is not complete code


class ChangedFile(TypedDict):
    """A file that a rewrite changes: how often, its new text, and the diff."""

    path: str
    matches: int
    text: str
    diff: str


class Rewritten(TypedDict):
    changed: list[ChangedFile]
    unread: list[str]
    incomplete: bool
