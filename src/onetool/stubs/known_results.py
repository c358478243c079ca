"""The result types of tools, from a pack's source, a server's list, or values that came back."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from mcp_core.json_types import Json
from onetool.stubs.pack_stub import KnownResult
from ot.errors import CallError, PackLoadError
from ot.proxy import Servers
from ot.registry.annotations import AnnotationReader
from ot.registry.definitions import PROXY, ToolDefinition
from ot.registry.from_source import parse_source
from ot.registry.wrapped_results import result_schema
from ot.shapes.shapes import Shapes


class KnownResults:
    """Looks up what tools return, most certain first."""

    def __init__(self, servers: Servers, shapes: Shapes) -> None:
        self._servers = servers
        self._shapes = shapes

    def of(self, tool: ToolDefinition) -> KnownResult:
        """Return what is known of the result of a tool."""
        learnt = self._shapes.book.learnt(tool.learns) if tool.learns is not None else None
        if learnt is not None:
            return KnownResult(shape=learnt.shape)
        if tool.source.startswith(PROXY):
            listed = self._listed(tool.source.removeprefix(PROXY)).get(tool.original or tool.tool, {})
            return KnownResult(result_schema(listed.get("outputSchema")))
        return _from_source(tool.file, tool.tool) if tool.file is not None else KnownResult()

    def _listed(self, server: str) -> Mapping[str, Mapping[str, Json]]:
        try:
            [found] = self._servers.choose(server)
        except CallError:  # it was switched off meanwhile
            return {}
        return {str(tool["name"]): tool for tool in reversed(found.memory.shown("tools"))}


def _from_source(file: Path, function: str) -> KnownResult:
    module = _parse(file)
    functions = (node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    returns = next((node.returns for node in functions if node.name == function), None)
    records = returns is not None and any(
        isinstance(node, ast.Name) and node.id in _dataclasses(module) for node in ast.walk(returns)
    )
    name = returns.id if isinstance(returns, ast.Name) else ""
    return KnownResult(AnnotationReader(module).schema(returns), name, records)


def _dataclasses(module: ast.Module) -> set[str]:
    """Return the names of dataclasses: what is one arrives as a record."""
    return {
        node.name
        for node in module.body
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    }


@lru_cache(maxsize=4)
def _parse(file: Path) -> ast.Module:
    try:
        return parse_source(file.read_bytes(), file)
    except (OSError, PackLoadError):  # it was there a moment ago
        return ast.Module(body=[], type_ignores=[])
