"""Reading text that is not quite Python: indented as a whole, or mixing tabs and spaces.

Text is touched only in front of a line, and never inside a string; line numbers stay those of the author.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

FILENAME = "<run>"

_LINE_NUMBER = re.compile(r"\bline (\d+)")


def parse(source: str) -> ast.Module:
    """Read the text; code that is indented as a whole, or mixes tabs and spaces, is read as it was meant."""
    try:
        return ast.parse(source, FILENAME)
    except IndentationError as error:
        # As Python itself does, so that lines are counted alike.
        source = source.replace("\r\n", "\n").replace("\r", "\n")
        tree = None if isinstance(error, TabError) else _parse_indented(source)
        if tree is None and "\t" in source:
            tree = _parse_tabs(source)
        if tree is None:
            raise
        return tree


def _parse_indented(source: str) -> ast.Module | None:
    """Code inside a block of its own, whose one line is then taken off every line number.

    None if its indentation makes no sense there either; any other mistake in it is raised.
    """
    for margin in _lost_margins(source):
        try:
            tree = ast.parse(f"if 1:\n{margin}{source}", FILENAME)
        except IndentationError:
            continue
        except SyntaxError as error:
            raise _one_line_up(error) from None
        block = tree.body[0]
        if len(tree.body) == 1 and isinstance(block, ast.If):
            return ast.increment_lineno(ast.Module(body=block.body, type_ignores=[]), -1)
    return None


def _lost_margins(source: str) -> list[str]:
    """What may be missing in front of the first line: nothing, or what the lines after it still have."""
    first, *following = (line for line in source.split("\n") if line.strip())
    if first[0].isspace() or source[0] == "\n":
        return [""]
    margins = [line[: len(line) - len(line.lstrip())] for line in following]
    return [margin for margin in dict.fromkeys((*margins[:1], min(margins, key=len, default=""))) if margin]


def _one_line_up(error: SyntaxError) -> SyntaxError:
    """The same mistake, in the author's lines."""
    message = _LINE_NUMBER.sub(lambda found: f"line {int(found[1]) - 1}", error.msg)
    line, end = error.lineno or 1, error.end_lineno or 1
    return type(error)(message, (FILENAME, line - 1, error.offset, error.text, end - 1, error.end_offset))


def _parse_tabs(source: str) -> ast.Module | None:
    """Tabs as four or as eight columns; both if both mean the same."""
    trees = [tree for width in (4, 8) if (tree := _parse_with_tabs(source, width)) is not None]
    if len(trees) == 2 and ast.dump(trees[0]) != ast.dump(trees[1]):
        return None
    return trees[0] if trees else None


def _parse_with_tabs(source: str, width: int) -> ast.Module | None:
    lines = source.split("\n")
    expanded = [_expand_margin(line, width) for line in lines]
    tree = _parse_expanded("\n".join(expanded))
    if tree is None:
        return None
    inside = set(_lines_inside_strings(tree))
    if not inside:
        return tree
    return _parse_expanded("\n".join(lines[i] if i + 1 in inside else text for i, text in enumerate(expanded)))


def _expand_margin(line: str, width: int) -> str:
    text = line.lstrip(" \t")
    return line[: len(line) - len(text)].expandtabs(width) + text


def _parse_expanded(text: str) -> ast.Module | None:
    try:
        return ast.parse(text, FILENAME)
    except IndentationError:
        return _parse_indented(text)


def _lines_inside_strings(tree: ast.Module) -> Iterator[int]:
    """Lines that begin inside a string: their margin is the author's data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
