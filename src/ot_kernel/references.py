"""The names that a program binds itself, and the tools that it is certain to call."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator
from typing import TypedDict

_GIVEN = {*dir(builtins), "__annotations__", "__builtins__", "__file__", "ToolError"}
# Whoever uses one of these can bind a name without writing it down.
_BINDERS = {"exec", "eval", "globals", "locals", "vars", "setattr", "builtins", "__builtins__", "__import__"}

_NAMELESS = frozenset({"ctx", "op", "ops"})  # fields of nodes, with nothing below them

_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


class Reference(TypedDict):
    """A call of `pack.tool` that is certain to be made; `open` if it unpacks arguments, so that more may come.

    `given_calls` if calls of other tools stand where it takes arguments without a name, or in a list there.
    `first` if it stands in the first statement, apart from imports. `alias` is the name that stands there, if any.
    """

    pack: str
    tool: str
    keywords: list[str]
    positional: int
    open: bool
    given_calls: bool
    line: int
    first: bool
    alias: str


class Bindings(ast.NodeVisitor):
    """Collects in `bound` the names that imports, handlers and patterns bind."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self._visitors: dict[type[ast.AST], Callable[[ast.AST], None]] = {}

    def visit(self, node: ast.AST) -> None:
        """Do as the library does, in a third of its time: a visitor is looked up once for each kind of node."""
        kind = type(node)
        visitor = self._visitors.get(kind)
        if visitor is None:
            visitor = self._visitors[kind] = getattr(self, f"visit_{kind.__name__}", self.generic_visit)
        visitor(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Visit what a node consists of, but for those that have no name in them."""
        for field in node._fields:
            if field in _NAMELESS:
                continue
            part = getattr(node, field, None)
            if isinstance(part, list):
                for item in part:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(part, ast.AST) and type(part) is not ast.Constant:
                self.visit(part)

    def visit_alias(self, node: ast.alias) -> None:
        if node.name != "*":
            self.bound.add(node.asname or node.name.partition(".")[0])

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node, node.rest)

    def visit_named(self, node: _Named) -> None:
        self._bind(node, node.name)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = visit_named

    def _bind(self, node: ast.AST, name: str | None) -> None:
        if name:
            self.bound.add(name)
        self.generic_visit(node)


class Survey(Bindings):
    """One walk over the tree: `used` are the names it reads, `bound` those it binds anywhere, in whatever scope."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self.used: set[str] = set()
        self.has_star_import = False
        self.has_await = False
        self.has_return = False
        self._calls: list[tuple[ast.Call, bool]] = []
        self._tries = 0
        self._first_end = _end_of_first(tree.body)
        for statement in tree.body:
            self.visit(statement)

    def references(self, packs: Collection[str], aliases: dict[str, str]) -> list[Reference]:
        """Find calls of `name.tool(...)`, or of an alias, where neither the program nor Python defines the name."""
        if not self._calls or self.has_star_import or self.used & _BINDERS:
            return []
        defined = self.bound | (_GIVEN - set(packs))
        found = []
        for call, guarded in self._calls:
            target = _target(call.func, defined, aliases)
            if target is not None and not guarded:
                given = any(_target(inner.func, defined, aliases) is not None for inner in _calls_given_to(call))
                first = (call.lineno, call.col_offset) < self._first_end
                found.append(_describe(call, *target, given_calls=given, first=first))
        return found

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute | ast.Name):
            self._calls.append((node, self._tries > 0))
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        (self.used if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = Bindings.visit_named
    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = Bindings.visit_named

    def visit_arg(self, node: ast.arg) -> None:
        self._bind(node, node.arg)

    def visit_alias(self, node: ast.alias) -> None:
        self.has_star_import = self.has_star_import or node.name == "*"
        super().visit_alias(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.bound.update(node.names)

    def visit_Await(self, node: ast.Await) -> None:
        self.has_await = True
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        self.has_return = True
        self.generic_visit(node)

    def _visit_try(self, node: ast.Try | ast.TryStar) -> None:
        """Leave out the guarded part, where a call may be meant to fail; handlers and the rest are ordinary code."""
        self._tries += 1
        for statement in node.body:
            self.visit(statement)
        self._tries -= 1
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    visit_Try = visit_TryStar = _visit_try


def _target(function: ast.expr, defined: set[str], aliases: dict[str, str]) -> tuple[str, str] | None:
    """Return the pack and the tool of a call that names them outright."""
    match function:
        case ast.Attribute(value=ast.Name(id=pack), attr=tool) if pack not in defined:
            return pack, tool
        case ast.Name(id=name) if name in aliases and name not in defined:
            pack, _, tool = aliases[name].partition(".")
            return pack, tool
    return None


def _calls_given_to(call: ast.Call) -> Iterator[ast.Call]:
    for argument in call.args:
        match argument:
            case ast.Call():
                yield argument
            case ast.List(elts=items) | ast.Tuple(elts=items):
                yield from (item for item in items if isinstance(item, ast.Call))
            case ast.ListComp(elt=ast.Call() as item) | ast.GeneratorExp(elt=ast.Call() as item):
                yield item


def _end_of_first(statements: list[ast.stmt]) -> tuple[int, int]:
    """Return where the first statement ends that may do something."""
    for statement in statements:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not isinstance(statement, ast.Import | ast.ImportFrom):
            return statement.end_lineno or 0, statement.end_col_offset or 0
    return 0, 0


def _describe(call: ast.Call, pack: str, tool: str, *, given_calls: bool, first: bool) -> Reference:
    keywords = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    is_open = len(keywords) != len(call.keywords) or any(isinstance(arg, ast.Starred) for arg in call.args)
    return {
        "pack": pack,
        "tool": tool,
        "keywords": keywords,
        "positional": len(call.args),
        "open": is_open,
        "given_calls": given_calls,
        "line": call.lineno,
        "first": first,
        "alias": call.func.id if isinstance(call.func, ast.Name) else "",
    }
