"""Code as it is typed: whether it is whole, what its `_` stands for, the call at the cursor, and how it is completed.

Packs, tools, arguments and their allowed values come from definitions.
"""

from __future__ import annotations

import ast
import builtins
import codeop
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mcp_core.json_types import mapping_of, resolve
from ot.errors import CallError
from ot.introspect.signatures import read_signature
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.run.namespace import PROJECTS

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


class OpenCall(NamedTuple):
    """A call whose arguments are being typed: what is called, the keywords so far, and the one that is being given."""

    name: str
    given: frozenset[str]
    keyword: str = ""  # the value of this one is being typed


class Position(NamedTuple):
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
            name, equals, value = code[brackets[-1].start : found.start()].partition("=")
            if equals and name.strip().isidentifier() and not value.startswith("="):
                brackets[-1].given.append(name.strip())
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


_PYTHON = tuple(sorted({*keyword.kwlist, *(name for name in dir(builtins) if name[:1].islower())}))
_ENDING_TEXT = re.compile(r"[\"'\\{}]")  # would end the string that it is put into, or be special in it
_MOST = 200


class Completion(NamedTuple):
    """A text that replaces what was typed, and how a list shows it."""

    text: str
    typed: int  # characters before the cursor that it replaces
    shown: str = ""


@dataclass(frozen=True, slots=True)
class CodeCompleter:
    """Completes code from the packs, tools, aliases and projects there are at this moment."""

    registry: ToolRegistry
    aliases: Mapping[str, str]
    projects: Iterable[str]

    def complete(self, code: str) -> list[Completion]:
        """Return completions for the end of the code; none where anything may follow."""
        position = find_position(code)
        if position is None:
            return []
        if position.in_text:
            return list(self._choices(position))
        word = position.word
        if "." in word:
            return self._members(word.rpartition(".")[0], word)
        own = sorted({*self.packs(), *self.aliases})
        python = [name for name in _PYTHON if word and name not in own]
        words = (Completion(name, len(word)) for name in [*own, *python] if name.startswith(word))
        return (list(self._arguments(position)) or list(words))[:_MOST]

    def packs(self) -> list[str]:
        """Return the names of packs, those of servers that are not connected yet included."""
        off = self.registry.switched_off()
        return [name for name in self.registry.pack_names() if name not in off]

    def _members(self, pack: str, word: str) -> list[Completion]:
        if "." in pack or pack not in self.registry.pack_names():
            return []
        try:
            tools = self.registry.pack(pack).tools
        except CallError:  # a server that cannot be reached, or not yet
            return []
        names = {f"{pack}.{tool}": f"{pack}.{tool}(" for tool in tools}
        if pack == PROJECTS:
            names |= {f"{pack}.{project}": f"{pack}.{project}" for project in self.projects}
        found = sorted((name, text) for name, text in names.items() if name.startswith(word))
        return [Completion(text, len(word), name.partition(".")[2]) for name, text in found[:_MOST]]

    def _arguments(self, position: Position) -> Iterator[Completion]:
        """Yield the arguments of a call that are not given yet, required ones first, with their types."""
        tool = self._tool(position.call)
        if tool is None or position.call is None or position.call.keyword:
            return
        types = read_signature(tool.python_signature).parameters
        for name in map(tool.shown_name, mapping_of(tool.parameters.get("properties"))):
            if name.startswith(position.word) and name not in position.call.given:
                yield Completion(f"{name}=", len(position.word), f"{name}: {types.get(name, '') or 'Any'}")

    def _choices(self, position: Position) -> Iterator[Completion]:
        """Yield the allowed values of an argument, if there is a list of them."""
        tool, call = self._tool(position.call), position.call
        if tool is None or call is None or not call.keyword:
            return
        given = mapping_of(tool.parameters.get("properties"))
        for choice in _words_of(given.get(tool.own_name(call.keyword)), tool.parameters):
            if choice.startswith(position.word):
                yield Completion(choice, len(position.word))

    def _tool(self, call: OpenCall | None) -> ToolDefinition | None:
        if call is None:
            return None
        name = self.aliases.get(call.name, call.name)
        try:
            return self.registry.get(name) if "." in name else None
        except CallError:
            return None


def _words_of(schema: object, root: object) -> list[str]:
    schema = resolve(root, schema)
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        texts = (choice for choice in schema["enum"] if isinstance(choice, str) and choice.isprintable())
        # A server could have chosen a value that ends the quotes around it and goes on as code.
        return [text for text in texts if not _ENDING_TEXT.search(text)]
    branches: list[object] = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), [])
    return [word for branch in branches for word in _words_of(branch, root)]
