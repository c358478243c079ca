"""Annotations of an extension's tools that say less than their author may think, with their lines."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from mcp_core.quick_dataclass import dataclass
from ot.registry.annotations import AnnotationReader

_VALUES = frozenset(
    {
        *("datetime", "date", "time", "timedelta", "Decimal", "Fraction", "UUID", "Path", "PurePath"),
        *("Image", "Audio", "Resource", "bytearray", "complex"),
    }
)
"""Types that are not checked before a call, and cross as what they are."""


@dataclass(frozen=True, slots=True)
class UnknownAnnotation:
    """One annotation that is not understood; `undefined` is the name in it that the file does not define."""

    tool: str
    parameter: str  # empty: of what the tool returns
    text: str
    line: int
    undefined: str = ""


def find_unknown_annotations(tree: ast.Module) -> Iterator[UnknownAnnotation]:
    """Yield the annotations of public functions that nothing can be checked by, and those with a name nobody knows."""
    known, whole = {*_names_of(tree), *dir(builtins)}, AnnotationReader(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            for parameter, annotation in _annotations(node):
                undefined = _first_undefined(annotation, known)
                unknown = _unknown_in(whole, annotation) if parameter else ""
                if undefined or unknown:
                    text = unknown or ast.unparse(annotation)
                    yield UnknownAnnotation(node.name, parameter, text, annotation.lineno, undefined)


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


def _first_undefined(annotation: ast.expr, known: set[str]) -> str:
    """Return the first name in an annotation that the file neither defines nor imports."""
    names = (node.id for node in ast.walk(annotation) if isinstance(node, ast.Name))
    return next((name for name in names if name not in known), "")


def _names_of(tree: ast.Module) -> Iterator[str]:
    """Yield what a file defines or imports, wherever: a name inside a function harms less than a false alarm."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
