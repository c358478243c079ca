"""The modules that a file imports, read from its syntax tree, and those that its environment has."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from mcp_core.quick_dataclass import dataclass

_SEPARATORS = re.compile(r"[-_.]+")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True)
class Imported:
    """One module that a file imports, by its first name, and where."""

    module: str
    line: int


def find_imports(tree: ast.Module) -> Iterator[Imported]:
    """Yield each module that the file needs, once; what only a type checker sees, or may be missing, is left out."""
    seen: set[str] = set()
    for node in _walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for module in (name.partition(".")[0] for name in names if not getattr(node, "level", 0)):
            if module not in seen:
                seen.add(module)
                yield Imported(module, node.lineno)


def _walk(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).rpartition(".")[2] == "TYPE_CHECKING":
            for other in child.orelse:
                yield from _walk(other)
        elif not (isinstance(child, ast.Try) and any(map(_catches_missing, child.handlers))):
            yield from _walk(child)


def _catches_missing(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return not _IMPORT_ERRORS.isdisjoint(map(ast.unparse, kinds))


def is_of_python(module: str) -> bool:
    """True for a module of the standard library, as this interpreter has it, and for those of ot_sdk itself."""
    return module in sys.stdlib_module_names or module in ("distutils", "ot_sdk")


def lies_beside(file: Path, module: str) -> bool:
    """True for a module in the folder of the file itself."""
    return (file.parent / f"{module}.py").is_file() or (file.parent / module).is_dir()


def normal_name(requirement: str) -> str:
    """Return the name of the package in a requirement, written in the one way in which names can be compared."""
    found = _REQUIREMENT.match(requirement.strip())
    return _SEPARATORS.sub("-", found[0]).lower() if found else ""


def find_packages(python: Path) -> dict[str, list[Distribution]]:
    """Return the packages in the environment of an interpreter, by the modules that they bring; runs nothing in it."""
    folders = [str(folder) for folder in python.parent.parent.glob("lib/python3*/site-packages")]
    found: dict[str, list[Distribution]] = {}
    for package in distributions(path=folders):
        for module in _modules_of(package):
            found.setdefault(module, []).append(package)
    return found


def _modules_of(package: Distribution) -> set[str]:
    declared = package.read_text("top_level.txt")
    if declared is not None and declared.split():
        return set(declared.split())
    firsts = {Path(str(file)).parts[0] for file in package.files or ()}
    return {first.partition(".")[0] for first in firsts if first.endswith((".py", ".so")) or first.isidentifier()}
