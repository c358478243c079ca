"""Counts of the source that should not creep up again: names that stand for `Any`, hidden imports, makers of callers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
OURS = {folder.name for folder in SRC.iterdir() if (folder / "__init__.py").exists()}
PLAIN = {"dict", "list", "str", "int", "float", "bool", "Mapping", "Sequence", "tuple", "Union", "Optional"}
MOST_ANY = 3.0  # in a thousand lines
MOST_HIDDEN = 0.9  # imports of our own code inside functions, in a thousand lines


class House(ast.NodeVisitor):
    """One look at the whole source."""

    def __init__(self) -> None:
        self.lines = 0
        self.used: Counter[str] = Counter()  # names that are read
        self.assigned: list[tuple[str, ast.expr]] = []
        self.hidden: list[str] = []
        self.callers: set[str] = set()
        self._file = ""
        self._depth = 0  # functions around the node

    def look(self, file: Path) -> None:
        text = file.read_text()
        tree = ast.parse(text)
        self.lines += text.count("\n")
        self._file = file.relative_to(SRC).as_posix()
        self.assigned += assignments(tree)
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.used[node.id] += 1

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "Caller":
            self.callers.add(self._file)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._note_import(*(alias.name for alias in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._note_import(node.module or "")

    def _note_import(self, *modules: str) -> None:
        if self._depth and any(module.partition(".")[0] in OURS for module in modules):
            self.hidden.append(f"{self._file}: {', '.join(modules)}")


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


@cache
def house() -> House:
    found = House()
    for file in sorted(SRC.rglob("*.py")):
        found.look(file)
    return found


def names_for_any() -> set[str]:
    """Find `Any`, and every alias that is made of nothing else."""
    made_of = [
        (name, {each.id for each in ast.walk(value) if isinstance(each, ast.Name)})
        for name, value in house().assigned
        if not isinstance(value, ast.Call)
    ]
    names = {"Any"}
    while more := {name for name, used in made_of if name not in names and used & names and used <= names | PLAIN}:
        names |= more
    return names


def test_few_values_have_no_type() -> None:
    names = names_for_any()
    uses = sum(house().used[name] for name in names)

    assert uses * 1000 / house().lines <= MOST_ANY, f"{uses} uses of {sorted(names)}"


def test_few_imports_of_our_own_code_are_hidden_in_functions() -> None:
    hidden = house().hidden

    assert len(hidden) * 1000 / house().lines <= MOST_HIDDEN, hidden


def test_callers_are_made_in_two_files() -> None:
    """Of a front or for nobody in particular, and for a console."""
    assert house().callers == {"onetool/console/caller.py", "ot/clients/caller.py"}
