"""Code as it is typed: whether it is whole, what its `_` stands for, the word at the cursor and the call around it."""

from __future__ import annotations

import ast
import codeop
import re
import warnings
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | [A-Za-z]{0,2}(?P<quote>'{3}|"{3}|'|")
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<word>[^\W\d][\w.]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d][\w.]*\Z")
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*=\s*\Z")


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call whose arguments are being typed: what is called, the keywords so far, and the one that is being given."""

    name: str
    given: frozenset[str]
    keyword: str = ""  # the value of this one is being typed


@dataclass(frozen=True, slots=True)
class Position:
    """The word or string that is being typed, and the call around it."""

    word: str
    in_text: bool = False
    call: OpenCall | None = None


@dataclass(slots=True)
class _Bracket:
    kind: str
    called: str  # the dotted name in front of it
    start: int  # of the argument that is being typed
    given: list[str]


def find_position(code: str) -> Position | None:
    """Look at code up to the cursor; None in a comment, where nothing is completed."""
    brackets: list[_Bracket] = []
    place, before = 0, ""  # what stands directly before
    while place < len(code):
        found = _TOKEN.match(code, place)
        assert found is not None
        if quote := found["quote"]:
            end = _end_of_text(code, found.end(), quote)
            if end is None:
                return Position(code[found.end() :], in_text=True, call=_call(brackets, code[: found.start()]))
            place, before = end, ""
            continue
        if found["comment"] is not None and found.end() == len(code):
            return None
        if found["open"]:
            called = before if found["open"] == "(" else ""
            brackets.append(_Bracket(found["open"], called, found.end(), []))
        elif found["close"] and brackets:
            brackets.pop()
        elif found["other"] == "," and brackets:
            brackets[-1].given += _keyword_of(code[brackets[-1].start : found.start()])
            brackets[-1].start = found.end()
        place, before = found.end(), found["word"] or ""
    word = _WORD.search(code)
    text = word[0] if word is not None else ""
    return Position(text, call=_call(brackets, code[: len(code) - len(text)]))


def _end_of_text(code: str, start: int, quote: str) -> int | None:
    """Return where a string ends; None if it does not. One of a single line ends with it."""
    place = start
    while place < len(code):
        if code.startswith(quote, place):
            return place + len(quote)
        if code[place] == "\n" and len(quote) == 1:
            return place
        place += 2 if code[place] == "\\" else 1
    return None


def _call(brackets: list[_Bracket], code: str) -> OpenCall | None:
    """Return the innermost call, if an argument of it begins or is given here."""
    if not brackets or brackets[-1].kind != "(" or not brackets[-1].called:
        return None
    inner = brackets[-1]
    argument = code[inner.start :]
    keyword = _KEYWORD.search(argument)
    if argument.strip() and keyword is None:
        return None
    return OpenCall(inner.called, frozenset(inner.given), keyword[1] if keyword is not None else "")


def _keyword_of(argument: str) -> list[str]:
    name, equals, value = argument.partition("=")
    return [name.strip()] if equals and name.strip().isidentifier() and not value.startswith("=") else []


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
