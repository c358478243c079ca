"""From the author's text to code objects that behave as a plain module does.

Everything is done on the syntax tree: strings keep their content and every line keeps its number. With a `return`
outside a function, the code becomes a function whose names are all global, and the rest stays a module. A snippet's
values are put into the tree as data: whatever a value holds, it cannot become code.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection, Iterator
from types import CodeType
from typing import NamedTuple, TypeVar

from ot_kernel.indentation import FILENAME, parse
from ot_kernel.references import Bindings, Reference, Survey

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
    try:
        return _compile_once(tree, mode, file)
    except RecursionError:
        if sys.version_info[:2] != (3, 12):
            raise
        with _deep_trees():
            return _compile_once(tree, mode, file)


def _compile_once(tree: ast.Module | ast.Expression, mode: str, file: str) -> CodeType:
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


class _deep_trees:  # noqa: N801 - reads as a keyword at its `with`
    """Python 3.12 parses trees twice as deep as those that it compiles: a fixed limit, which no function changes.

    It counts down in the state of a thread, after the limit that can be set; no tree is deeper than what is parsed.
    """

    def __enter__(self) -> None:
        import ctypes  # noqa: PLC0415 - for hardly any program

        state = ctypes.pythonapi.PyThreadState_Get
        state.restype = ctypes.c_void_p
        limit, self._left = (ctypes.c_int.from_address(state() + place) for place in (32, 36))
        self._more = _TREE_DEPTH if limit.value == sys.getrecursionlimit() else 0
        self._left.value += self._more

    def __exit__(self, *exc: object) -> None:
        self._left.value -= self._more
