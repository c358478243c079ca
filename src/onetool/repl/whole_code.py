"""Typed code: whether it is whole, and what its `_` stands for."""

from __future__ import annotations

import ast
import codeop
import warnings

LAST = "_"
_FENCE = "```"
_SIMPLE = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Assert, ast.Delete, ast.Pass,
    ast.Raise, ast.Return,
)  # fmt: skip


def is_whole(text: str) -> bool:
    """True if nothing has to follow; a block ends with an empty line, and what is wrong is best run, to be told so."""
    lines = text.split("\n")
    if text.lstrip().startswith(_FENCE):
        return sum(line.strip().startswith(_FENCE) for line in lines) > 1
    if len(lines) > 1 and lines[-1][:1].isspace() and lines[-1].strip():
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(text.rstrip(" \t"), symbol="exec") is not None
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return True


def indentation_after(line: str) -> str:
    """Return the margin of the line that follows."""
    margin = line[: len(line) - len(line.lstrip())]
    return f"{margin}    " if line.rstrip().endswith(":") else margin


def uses_last(code: str) -> bool:
    """True if code reads `_` and nothing in it is called so."""
    try:
        names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and node.id == LAST]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(names) and all(isinstance(node.ctx, ast.Load) for node in names)


def with_last(code: str, value: str) -> str:
    """Return code that begins by giving `_` a value, on its first line where it can: lines keep their numbers."""
    first = ast.parse(code).body[0]
    same_line = isinstance(first, _SIMPLE) and not code[:1].isspace() and first.lineno == 1
    return f"{LAST} = {value}{'; ' if same_line else chr(10)}{code}"
