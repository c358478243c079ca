"""`return` outside a function: the code becomes a function whose names are all global, and the rest stays a module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import TypeVar

from ot_kernel.indentation import FILENAME
from ot_kernel.references import Bindings

ENTRY = "__run__"
IMPORT_STAR = "__import_star__"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Node = TypeVar("_Node", bound=ast.AST)


def has_top_level_return(tree: ast.Module) -> bool:
    """True if a `return` stands outside every function and class."""
    return any(True for _ in _in_module_scope(tree.body, ast.Return))


def wrap_in_function(tree: ast.Module, file: str = FILENAME) -> ast.Module:
    """Return a module that defines the function ENTRY, which does what the tree does and returns its value."""
    for node in _in_module_scope(tree.body, (ast.Yield, ast.YieldFrom)):
        raise SyntaxError("'yield' outside function", (file, node.lineno, node.col_offset + 1, None))
    names = _GlobalNames()
    names.visit(tree)
    start = _count_opening_statements(tree)
    body: list[ast.stmt] = [_ModuleOnly().visit(statement) for statement in tree.body[start:]]
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    if names.bound:
        body.insert(0, ast.Global(sorted(names.bound)))
    make: type[ast.AsyncFunctionDef | ast.FunctionDef] = ast.AsyncFunctionDef if _waits(tree) else ast.FunctionDef
    no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = make(name=ENTRY, args=no_arguments, body=body, decorator_list=[], returns=None)
    if sys.version_info >= (3, 12):
        function.type_params = []
    return ast.fix_missing_locations(ast.Module(body=[*tree.body[:start], function], type_ignores=[]))


def _count_opening_statements(tree: ast.Module) -> int:
    """Count the statements that only a module can open with: its docstring, then imports from `__future__`."""
    count = int(ast.get_docstring(tree, clean=False) is not None)
    while isinstance(statement := tree.body[count], ast.ImportFrom) and statement.module == "__future__":
        count += 1
    return count


def _waits(tree: ast.Module) -> bool:
    kinds = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.comprehension)
    return any(getattr(node, "is_async", True) for node in _in_module_scope(tree.body, kinds))


def _in_module_scope(body: list[ast.stmt], kind: type[_Node] | tuple[type[_Node], ...]) -> Iterator[_Node]:
    """Find the nodes of a kind outside every function and class."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            yield node
        waiting.extend(_outer_parts(node) if isinstance(node, _SCOPES) else ast.iter_child_nodes(node))


def _outer_parts(scope: _Scope) -> list[ast.AST]:
    """Return what a function or class evaluates where it is defined: decorators, defaults, annotations, bases."""
    if isinstance(scope, ast.ClassDef):
        return [*scope.decorator_list, *scope.bases, *scope.keywords]
    parts: list[ast.AST] = [*scope.args.defaults, *filter(None, scope.args.kw_defaults)]
    if isinstance(scope, ast.Lambda):
        return parts
    annotated = [node for node in ast.walk(scope.args) if isinstance(node, ast.arg)]
    annotations = [scope.returns, *(argument.annotation for argument in annotated)]
    return [*scope.decorator_list, *parts, *filter(None, annotations)]


class _GlobalNames(Bindings):
    """Names bound by the module's own statements, which a function would otherwise keep to itself."""

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def _visit_scope(self, node: _Scope) -> None:
        if not isinstance(node, ast.Lambda):
            self.bound.add(node.name)
        for part in _outer_parts(node):
            self.visit(part)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope

    def _visit_comprehension(self, node: _Comprehension) -> None:
        """Visit only what `:=` binds: the loop names of a comprehension stay inside it."""
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.visit(child.target)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


class _ModuleOnly(ast.NodeTransformer):
    """Two statements that a function does not allow: an annotation on a global name, and a star import."""

    def _keep(self, node: ast.AST) -> ast.AST:
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
