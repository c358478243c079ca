"""An extension looked at closely, for its author: annotations, imports, dependencies; each mistake with line and fix.

Its environment is made, since only that tells what an import leads to; nothing of the extension runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import PackLoadError
from ot.registry.from_source import parse_source
from ot.workers.annotation_mistakes import UnknownAnnotation, find_unknown_annotations
from ot.workers.extension import Extension
from ot.workers.file_imports import Imported, find_imports, find_packages, is_of_python, lies_beside, normal_name
from ot.workers.host import WorkerHost
from ot.workers.installing import Installer
from ot.workers.uv_program import PreparationError

_PACKAGES = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages whose name is not that of their module."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing to mend in an extension's file."""

    file: Path
    line: int
    text: str


async def examine(extension: Extension, host: WorkerHost) -> list[Mistake]:
    """Return what is wrong with an extension, in the order of its lines."""
    file = extension.file
    try:
        content = extension.source.read_bytes()
        tree = parse_source(content, file)
    except (OSError, PackLoadError):
        return []  # told by whoever reads definitions
    try:
        packages = await _find_packages(extension, host)
    except PreparationError as error:
        return [Mistake(file, _header_line(content.decode(errors="replace"), str(error)), _word_installing(error))]
    mistakes = [Mistake(file, each.line, _judge_import(each, extension, packages)) for each in find_imports(tree)]
    mistakes += [Mistake(file, each.line, _word_annotation(each)) for each in find_unknown_annotations(tree)]
    return sorted((mistake for mistake in mistakes if mistake.text), key=lambda mistake: mistake.line)


async def _find_packages(extension: Extension, host: WorkerHost) -> dict[str, list[Distribution]]:
    if extension.header is None:
        return {}
    installer = Installer(extension.source, extension.header, host, lambda _: None)
    return find_packages(await installer.interpreter())


def _judge_import(imported: Imported, extension: Extension, packages: dict[str, list[Distribution]]) -> str:
    """Say what is wrong with an import, empty if nothing is."""
    module = imported.module
    if is_of_python(module) or lies_beside(extension.file, module):
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


def _word_annotation(unknown: UnknownAnnotation) -> str:
    place = f"the parameter {unknown.parameter}" if unknown.parameter else "the result"
    place = f"{place} of {unknown.tool}"
    if unknown.undefined:
        return f"{place} is annotated with {unknown.undefined}, which the file neither defines nor imports"
    return (
        f"{place} is annotated with {unknown.text}, which cannot be checked, so any value passes and arrives as it is: "
        "use builtin types, Literal, unions, containers, or a TypedDict or dataclass of the file"
    )


def _word_installing(error: PreparationError) -> str:
    said = " ".join(str(error).split()).rstrip(".")
    return f"{said}. Correct dependencies or requires-python in its header"


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
