"""Reading text that is not quite Python: indented as a whole, or mixing tabs and spaces.

Text is touched only in front of a line, and never inside a string; line numbers stay those of the author.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

FILENAME = "<run>"

_LINE_NUMBER = re.compile(r"\bline (\d+)")
_STRAY_BLANK = re.compile(r"\A((?:[ \t]*+(?:#[^\n]*+)?+\n)*+)[ \t](?=\S)")  # empty lines and comments come before it


def parse(source: str) -> ast.Module:
    """Read the text; code that is indented as a whole, or mixes tabs and spaces, is read as it was meant."""
    try:
        return ast.parse(source, FILENAME)
    except IndentationError as error:
        # As Python itself does, so that lines are counted alike.
        text = source.replace("\r\n", "\n").replace("\r", "\n")
        return _parse_tabs(text, error) if isinstance(error, TabError) else _parse_shifted(text, error)
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        character = repr(source[error.start])
        message = f"the character {character} cannot be used in code; inside a string, write it as an escape"
        raise SyntaxError(message, (FILENAME, line, None, None)) from None
    except ValueError as error:  # a null byte, which newer Pythons call a SyntaxError themselves
        line = source[: source.find("\0")].count("\n") + 1
        raise SyntaxError(str(error), (FILENAME, line, None, None)) from None


def _parse_shifted(source: str, mistake: IndentationError) -> ast.Module:
    try:
        return _parse_indented(source, mistake)
    except SyntaxError as error:
        if "\t" not in source or not isinstance(error, IndentationError):
            raise
        return _parse_tabs(source, error)


def _parse_indented(source: str, mistake: SyntaxError) -> ast.Module:
    """Code inside a block of its own, whose one line is then taken off every line number.

    Raises what is wrong with it there, and `mistake` if it does not fit into a block at all.
    """
    for is_repaired, text in _indented_texts(source):
        try:
            tree = ast.parse(f"if 1:\n{text}", FILENAME)
        except TabError:
            raise
        except SyntaxError as error:
            if not (is_repaired and isinstance(error, IndentationError)):
                mistake = _one_line_up(error)
            continue
        block = tree.body[0]
        if len(tree.body) == 1 and isinstance(block, ast.If):
            return ast.increment_lineno(ast.Module(body=block.body, type_ignores=[]), -1)
    return _parse_without_blank(source, mistake)


def _parse_without_blank(source: str, mistake: SyntaxError) -> ast.Module:
    """Read code whose first line alone begins with a blank, by accident; raises `mistake` for any other."""
    try:
        return ast.parse(re.sub(_STRAY_BLANK, r"\1", source, count=1), FILENAME)
    except SyntaxError:
        raise mistake from None


def _indented_texts(source: str) -> Iterator[tuple[bool, str]]:
    """The text as it is, or, if its first line lost its margin on the way here, with one that others still have."""
    lines = source.split("\n")
    numbers = [number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    first, following = numbers[0], [_margin_of(lines[number]) for number in numbers[1:]]
    if _margin_of(lines[first]):
        yield False, source
        return
    margins = [margin for margin in following if margin]
    for margin in dict.fromkeys((*margins[:1], *sorted(margins, key=len)[:1])):
        yield True, "\n".join([*lines[:first], margin + lines[first], *lines[first + 1 :]])


def _margin_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _one_line_up(error: SyntaxError) -> SyntaxError:
    """The same mistake, in the author's lines."""
    message = _LINE_NUMBER.sub(lambda found: f"line {int(found[1]) - 1}", error.msg)
    line, end = (error.lineno or 2) - 1, (error.end_lineno or 2) - 1
    return type(error)(message, (FILENAME, line, error.offset, error.text, end, error.end_offset))


def _parse_tabs(source: str, mistake: IndentationError) -> ast.Module:
    """Tabs as four or as eight columns; both if both mean the same, else raises `mistake`."""
    trees = [tree for width in (4, 8) if (tree := _parse_with_tabs(source, width)) is not None]
    if not trees or (len(trees) == 2 and ast.dump(trees[0]) != ast.dump(trees[1])):
        raise mistake
    return trees[0]


def _parse_with_tabs(source: str, width: int) -> ast.Module | None:
    lines = source.split("\n")
    expanded = [_margin_of(line).expandtabs(width) + line.lstrip(" \t") for line in lines]
    tree = _try_parse("\n".join(expanded))
    inside = set(_lines_inside_strings(tree)) if tree is not None else set()
    if not inside:
        return tree
    return _try_parse("\n".join(lines[i] if i + 1 in inside else text for i, text in enumerate(expanded)))


def _try_parse(text: str) -> ast.Module | None:
    try:
        try:
            return ast.parse(text, FILENAME)
        except IndentationError as error:
            return _parse_indented(text, error)
    except SyntaxError:
        return None


def _lines_inside_strings(tree: ast.Module) -> Iterator[int]:
    """Lines that begin inside a string: their margin is the author's data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
