"""One skill read from its file: a function whose definition counts and whose body is code as in a run.

Nothing of it is executed to read it, and what would be executed by defining it is refused: decorators, defaults that
are not constants, statements beside the function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import PackLoadError
from ot.registry.definitions import Cancellation, ToolDefinition
from ot.registry.from_source import FunctionNode, list_parameters, parse_pack, parse_source
from ot.values import OpaqueValue

PACK = "skills"
SOURCE = "skill"
MOST_BYTES = 200_000
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be called; `file` is where it lies, whatever copy it was read from."""

    definition: ToolDefinition
    file: Path
    text: str

    @property
    def name(self) -> str:
        return self.definition.tool


def parse_skill(content: bytes, file: Path) -> Skill:
    """Read a skill from the content of its file; raises PackLoadError with the line where it is none."""
    if len(content) > MOST_BYTES:
        raise PackLoadError(file, f"it is larger than {MOST_BYTES:,} bytes")
    module = parse_source(content, file)
    function = _find_function(module, file)
    for line, mistake in _find_mistakes(function, file.stem):
        raise PackLoadError(file, mistake, line)
    definition = parse_pack(content, file, name=PACK).tools[function.name]
    definition = replace(definition, cancellation=Cancellation.SKILL, source=SOURCE)
    return Skill(definition, file, decode_source(content))


def _find_function(module: ast.Module, file: Path) -> FunctionNode:
    """Return the one function; only a docstring and imports are allowed beside it."""
    found: list[FunctionNode] = []
    for number, node in enumerate(module.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node)
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise PackLoadError(file, "a skill has no package to import from", node.lineno)
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not (number == 0 and _is_text(node)):
            reason = "only imports are allowed beside the function: put everything else into it"
            raise PackLoadError(file, reason, node.lineno)
    if len(found) != 1:
        line = found[1].lineno if found else None
        raise PackLoadError(file, f"a skill is exactly one function; this file has {len(found)}", line)
    return found[0]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _find_mistakes(function: FunctionNode, name: str) -> Iterator[tuple[int, str]]:
    line = function.lineno
    if function.name != name:
        yield line, f"its function is {function.name}, and must have the name of the file, {name}"
    if len(name) > LONGEST_NAME or not name.isascii():
        yield line, f"the name of a skill has at most {LONGEST_NAME} letters, digits and underscores"
    if function.decorator_list:
        yield function.decorator_list[0].lineno, "a skill has no decorators"
    if not ast.get_docstring(function):
        yield line, "it has no docstring, whose first line says what it does"
    if function.args.posonlyargs:
        yield line, "it has parameters that take no name"
    for parameter in list_parameters(function.args):
        if parameter.kind:
            yield line, f"{parameter.kind}{parameter.node.arg} takes anything: a skill names what it takes"
        if parameter.node.annotation is None:
            yield parameter.node.lineno, f"{parameter.node.arg} has no type"
        if parameter.default is not None and not _is_constant(parameter.default):
            yield parameter.default.lineno, f"the default of {parameter.node.arg} is not a constant"


def _is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


class SkillCode(OpaqueValue):
    """One skill; no other caller than a kernel ever gets it."""

    __slots__ = ("file", "name", "source")

    def __init__(self, name: str, file: str, source: str) -> None:
        self.name = name
        self.file = file  # as tracebacks show it
        self.source = source
