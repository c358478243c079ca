"""The replacement of a rewrite: text with `$NAME` and `$$$NAME` for what a match captured, at the right depth."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ot.errors import ToolError

if TYPE_CHECKING:
    from ast_grep_py import SgNode

_NAME = re.compile(r"(\$\$\$|\$)([A-Z][A-Z0-9_]*)")
_BLANK = re.compile(r"[ \t]*")
_TEXTS = ("string", "heredoc", "template", "raw")


class Template:
    """A replacement, whose names are those of a pattern."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self._lines = text.split("\n")
        self.names = [(name, kind == "$$$") for kind, name in dict.fromkeys(_NAME.findall(text))]
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

            filled = _NAME.sub(insert, line)
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
    if any(word in node.kind() for word in _TEXTS):
        yield from range(place.start.line + 1, place.end.line + 1)
        return
    for child in node.children():
        yield from _lines_of_texts(child)


def _depth_at(text: str, index: int) -> str:
    """Return the blanks that the line of a character begins with."""
    return _blank(text[text.rfind("\n", 0, index) + 1 : index])


def _blank(line: str) -> str:
    found = _BLANK.match(line)
    return found[0] if found else ""
