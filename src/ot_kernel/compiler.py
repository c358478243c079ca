"""From the author's text to code objects that behave as a plain module does.

Everything is done on the syntax tree: strings keep their content and every line keeps its number.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection
from types import CodeType
from typing import NamedTuple

from ot_kernel.indentation import FILENAME, parse
from ot_kernel.references import Reference, Survey
from ot_kernel.top_level_return import has_top_level_return, wrap_in_function


class TemplateValueError(ValueError):
    """A value stands where only code can: inside a name."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: a template value is used inside a name; values can only be literals or text")
        self.line = line


def insert_values(tree: ast.Module, values: dict[str, str]) -> None:
    """Replace every placeholder: inside a string, in the string; bare, as a literal."""
    _Insertion(values).visit(tree)


def as_literal(text: str) -> str | float | None:
    """Return a number, true, false or null if the text is one; otherwise the text itself."""
    try:
        value = json.loads(text, parse_constant=_refuse_word)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, list | dict | str) else value


def _refuse_word(word: str) -> None:
    """Refuse NaN and Infinity, which Python's JSON knows; here they are words like any other."""
    raise ValueError(word)


class _Insertion(ast.NodeTransformer):
    def __init__(self, values: dict[str, str]) -> None:
        self._values = values
        self._places = re.compile("|".join(map(re.escape, values)))
        self._places_in_bytes = re.compile(self._places.pattern.encode())

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(id=name) if name in self._values and isinstance(node.ctx, ast.Load):
                return ast.copy_location(ast.Constant(as_literal(self._values[name])), node)
            case ast.Constant(value=str(text)):
                node.value = self._places.sub(lambda found: self._values[found[0]], text)
                return node
            case ast.Constant(value=bytes(data)):
                node.value = self._places_in_bytes.sub(self._as_bytes, data)
                return node
        self._refuse_in_names(node)
        return self.generic_visit(node)

    def _as_bytes(self, found: re.Match[bytes]) -> bytes:
        return self._values[found[0].decode()].encode("utf-8", "surrogatepass")

    def _refuse_in_names(self, node: ast.AST) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            texts = value if isinstance(value, list) else [value]
            for text in texts:
                if isinstance(text, str) and self._places.search(text):
                    raise TemplateValueError(getattr(node, "lineno", 1))


AWAIT = "__await_value__"

_TREE_DEPTH = 20_000  # deeper than any tree that the compiler itself accepts


class AliasCycle(Exception):  # noqa: N818 - worded by the server, whose error tree has AliasCycleError
    """Aliases that lead back to themselves; `names` is the way round."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(*names)
        self.names = names


class Program(NamedTuple):
    """`body`, if any, is run first; `last`, if any, gives the value.

    With `entry` the body only defines a function to call.
    """

    body: CodeType | None
    last: CodeType | None
    entry: bool
    references: list[Reference]
    aliases: dict[str, str]


def compile_program(source: str, *, packs: Collection[str], aliases: dict[str, str], values: dict[str, str]) -> Program:
    """Compile a command's code. Raises SyntaxError, AliasCycle or ValueError; all name lines of `source`."""
    tree = parse(source)
    if values:
        with _deep_recursion():
            insert_values(tree, values)
    return compile_tree(tree, packs=packs, aliases=aliases)


def compile_tree(
    tree: ast.Module,
    *,
    packs: Collection[str],
    aliases: dict[str, str],
    given: Collection[str] = (),
    file: str = FILENAME,
) -> Program:
    """Compile code whose names in `given` are defined before it runs; raises as `compile_program` does."""
    with _deep_recursion():
        survey = Survey(tree)
        survey.bound.update(given)
        free = survey.used - survey.bound  # not the names that the program defines itself
        used = {name: resolve(name, aliases) for name in aliases if name in free}
        references = survey.references(packs, used)
        if survey.has_await:
            tree = _AwaitAnything().visit(tree)
        if survey.has_return and has_top_level_return(tree):
            return Program(_compile(wrap_in_function(tree, file), "exec", file), None, True, references, used)
        value = tree.body[-1] if tree.body else None
        if not isinstance(value, ast.Expr):
            return Program(_compile(tree, "exec", file), None, False, references, used)
        tree.body.pop()
        last = _compile(ast.Expression(value.value), "eval", file)
        return Program(_compile(tree, "exec", file) if tree.body else None, last, False, references, used)


def _compile(tree: ast.Module | ast.Expression, mode: str, file: str) -> CodeType:
    code: CodeType = compile(tree, file, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


def resolve(name: str, aliases: dict[str, str]) -> str:
    """Return the `pack.tool` that an alias finally stands for; raises AliasCycle."""
    seen = [name]
    target = aliases[name]
    while target in aliases:
        if target in seen:
            raise AliasCycle([*seen, target])
        seen.append(target)
        target = aliases[target]
    return target


class _AwaitAnything(ast.NodeTransformer):
    """`await` on a plain value gives it back: tools answer at once, and code written for async tools runs too."""

    def visit_Await(self, node: ast.Await) -> ast.Await:
        self.generic_visit(node)
        call = ast.Call(ast.Name(AWAIT, ast.Load()), [node.value], [])
        node.value = ast.fix_missing_locations(ast.copy_location(call, node.value))
        return node


class _deep_recursion:  # noqa: N801 - reads as a keyword at its `with`
    """Walking a tree takes one Python frame per level; the compiler itself allows more levels than frames."""

    def __enter__(self) -> None:
        self._limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._limit, _TREE_DEPTH))

    def __exit__(self, *exc: object) -> None:
        sys.setrecursionlimit(self._limit)
