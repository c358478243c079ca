"""`return` outside a function: the code becomes a function whose names are all global, and the rest stays a module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from ot_kernel.indentation import FILENAME

ENTRY = "__run__"
IMPORT_STAR = "__import_star__"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def has_top_level_return(tree: ast.Module) -> bool:
    """Whether a `return` stands outside every function and class."""
    return any(True for _ in _in_module_scope(tree.body, ast.Return))


def wrap_in_function(tree: ast.Module) -> ast.Module:
    """A module that defines the function ENTRY, which does what the tree does and gives its value."""
    for node in _in_module_scope(tree.body, (ast.Yield, ast.YieldFrom)):
        raise SyntaxError("'yield' outside function", (FILENAME, node.lineno, node.col_offset + 1, None))
    bound = _GlobalNames(tree).names
    futures = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    body: list[ast.stmt] = [_ModuleOnly().visit(statement) for statement in tree.body if statement not in futures]
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    if bound:
        body.insert(0, ast.Global(sorted(bound)))
    waits = any(True for _ in _in_module_scope(tree.body, (ast.Await, ast.AsyncFor, ast.AsyncWith)))
    make: Any = ast.AsyncFunctionDef if waits else ast.FunctionDef
    no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = make(name=ENTRY, args=no_arguments, body=body, decorator_list=[], returns=None)
    if sys.version_info >= (3, 12):
        function.type_params = []
    return ast.fix_missing_locations(ast.Module(body=[*futures, function], type_ignores=[]))


def _in_module_scope(body: list[ast.stmt], kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[Any]:
    """Nodes of a kind that stand outside every function and class."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


class _GlobalNames(ast.NodeVisitor):
    """Names bound by the module's own statements, which a function would otherwise keep to itself."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        self.visit(tree)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def _visit_definition(self, node: Any) -> None:
        self.names.add(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A lambda binds nothing outside itself."""

    def _visit_comprehension(self, node: Any) -> None:
        """Its loop names stay inside; only `:=` reaches out."""
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.visit(child.target)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_alias(self, node: ast.alias) -> None:
        if node.name != "*":
            self.names.add(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def _visit_capture(self, node: Any) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            self.names.add(name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _visit_capture


class _ModuleOnly(ast.NodeTransformer):
    """Two statements that a function does not allow: an annotation on a global name, and a star import."""

    def _keep(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _keep

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.names[0].name != "*":
            return node
        call = ast.Call(ast.Name(IMPORT_STAR, ast.Load()), [ast.Constant(node.module or "")], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))
