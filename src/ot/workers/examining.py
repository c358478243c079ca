"""An extension looked at closely, for its author: annotations, imports, dependencies; each mistake with line and fix.

Its environment is made, since only that tells what an import leads to; nothing of the extension runs.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import PackLoadError
from ot.registry.annotations import AnnotationReader
from ot.registry.from_source import parse_source
from ot.workers.extension import Extension, WorkerHost
from ot.workers.installing import Installer
from ot.workers.uv_program import PreparationError

_SEPARATORS = re.compile(r"[-_.]+")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_VALUES = frozenset(
    {
        *("datetime", "date", "time", "timedelta", "Decimal", "Fraction", "UUID", "Path", "PurePath"),
        *("Image", "Audio", "Resource", "bytearray", "complex"),
    }
)
"""Types that are not checked before a call, and cross as what they are."""
_KINDS = "use builtin types, Literal, unions, containers, or a TypedDict or dataclass of the file"
_PACKAGES = {
    "PIL": "pillow", "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil",
    "dotenv": "python-dotenv", "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip
"""Packages whose name is not that of their module."""


def find_imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each module that the file needs and its first line; not what only types need, or what may be missing."""
    seen: set[str] = set()
    for node in _walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for module in (name.partition(".")[0] for name in names if not getattr(node, "level", 0)):
            if module not in seen:
                seen.add(module)
                yield module, node.lineno


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


def judge_annotations(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with annotations of public functions, and its lines."""
    # Those that nothing can be checked by, and those with a name that the file neither defines nor imports.
    known, whole = {*_names_of(tree), *dir(builtins)}, AnnotationReader(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            for parameter, annotation in _annotations(node):
                place = f"the parameter {parameter} of {node.name}" if parameter else f"the result of {node.name}"
                names = (each.id for each in ast.walk(annotation) if isinstance(each, ast.Name))
                undefined = next((name for name in names if name not in known), "")
                unknown = _unknown_in(whole, annotation) if parameter else ""
                if undefined:
                    reason = f"{undefined}, which the file neither defines nor imports"
                elif unknown:
                    reason = f"{unknown}, which cannot be checked, so any value passes and arrives as it is: {_KINDS}"
                else:
                    continue
                yield annotation.lineno, f"{place} is annotated with {reason}"


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    yield from ((each.arg, each.annotation) for each in every if each.annotation is not None)
    if node.returns is not None:
        yield "", node.returns


def _unknown_in(whole: AnnotationReader, annotation: ast.expr) -> str:
    """Return the part of an annotation that any value passes, empty if there is none."""
    reader = whole.another()
    reader.schema(annotation)
    return next((text for text in reader.unknown if text.rpartition(".")[2] not in _VALUES), "")


def _names_of(tree: ast.Module) -> Iterator[str]:
    """Yield what a file defines or imports, wherever: a name inside a function harms less than a false alarm."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


@dataclass(frozen=True, slots=True)
class Mistake:
    file: Path
    line: int
    text: str


async def examine(extension: Extension, host: WorkerHost) -> list[Mistake]:
    file = extension.file
    try:
        content = extension.source.read_bytes()
        tree = parse_source(content, file)
    except (OSError, PackLoadError):
        return []  # told by whoever reads definitions
    packages = {}
    try:
        if extension.header is not None:
            installer = Installer(extension.source, extension.header, host, lambda _: None)
            packages = find_packages(await installer.interpreter())
    except PreparationError as error:
        said = " ".join(str(error).split()).rstrip(".")
        text = f"{said}. Correct dependencies or requires-python in its header"
        return [Mistake(file, _header_line(content.decode(errors="replace"), str(error)), text)]
    mistakes = [Mistake(file, line, _judge_import(name, extension, packages)) for name, line in find_imports(tree)]
    mistakes += [Mistake(file, line, text) for line, text in judge_annotations(tree)]
    return sorted((mistake for mistake in mistakes if mistake.text), key=lambda mistake: mistake.line)


def _judge_import(module: str, extension: Extension, packages: dict[str, list[Distribution]]) -> str:
    """Say what is wrong with an import, empty if nothing is."""
    folder = extension.file.parent
    own = module in sys.stdlib_module_names or module in ("distutils", "ot_sdk")
    if own or (folder / f"{module}.py").is_file() or (folder / module).is_dir():
        return ""
    wanted = _PACKAGES.get(module, module)
    if extension.header is None:
        return (
            f"it imports {module}, and without a script header it has the standard library only: begin the file with "
            f'`# /// script`, `# dependencies = ["{wanted}"]`, `# ///`'
        )
    found = [package.metadata["Name"] for package in packages.get(module, ())]
    declared = {normal_name(requirement) for requirement in extension.header.dependencies}
    if not found:
        return f'it imports {module}, which nothing in its header brings: add "{wanted}" to dependencies'
    if declared.isdisjoint(map(normal_name, found)):
        bringing = ", ".join(_who_brings(found[0], packages, declared)) or "another package"
        return (
            f"it imports {module} by luck, because {bringing} happens to need {found[0]}: "
            f'add "{found[0].lower()}" to dependencies'
        )
    return ""


def _who_brings(name: str, packages: dict[str, list[Distribution]], declared: set[str]) -> Iterator[str]:
    """Yield the declared packages that need another one, directly."""
    every = {package.metadata["Name"]: package for found in packages.values() for package in found}
    for own, package in sorted(every.items()):
        if normal_name(own) in declared and normal_name(name) in map(normal_name, package.requires or ()):
            yield own


def _header_line(text: str, said: str) -> int:
    """Return the line of the header that uv speaks of: the one with a package that it names, else the dependencies."""
    lines = text.split("\n")
    header = [n for n, line in enumerate(lines) if line.startswith("#")]
    lowered = said.lower()
    for n in header:
        names = [normal_name(part) for part in lines[n].split('"')[1::2]]
        if any(name and name in lowered for name in names):
            return n + 1
    return next((n + 1 for n in header if "dependencies" in lines[n]), 1)
