"""One pack as a stub: a function for each tool, with the classes that its arguments and results need.

What a tool returns is found in a pack's source, a server's list, or values that came back.

Of a definition only names that are identifiers, literals and docstrings get here: whatever text a server gives, it is
nothing that Python would execute.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from mcp_core.json_types import Json, mapping_of
from onetool.console.clean_text import clean
from onetool.stubs.schema_types import Classes, ModuleNames, SchemaTypes, type_of_shape
from ot.errors import CallError, PackLoadError
from ot.proxy import Servers
from ot.registry.annotations import AnnotationReader
from ot.registry.definitions import PROXY, PackDefinition, ToolDefinition
from ot.registry.from_source import list_parameters, parse_source
from ot.registry.open_results import result_schema
from ot.shapes.shape import Shape
from ot.shapes.shapes import Shapes

VALUES = "__values__"  # the module of what all stubs have in common
_LONGEST_SIGNATURE = 50_000


class KnownResult(NamedTuple):
    """The known type of a tool's result: its schema, or the shape of earlier results."""

    schema: Json = None
    name: str = ""  # that its author has given it
    records: bool = False  # its objects are records
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class StubbedTool:
    definition: ToolDefinition
    docs: str
    result: KnownResult = field(default_factory=KnownResult)


def write_pack(pack: PackDefinition, tools: Iterable[StubbedTool], paths: Iterable[str] = ()) -> str:
    """Write the stub of a pack; `paths` are names in it that stand for folders."""
    tools = [tool for tool in tools if not keyword.iskeyword(tool.definition.tool)]
    taken = {tool.definition.tool for tool in tools}
    paths = [path for path in paths if path.isidentifier() and not keyword.iskeyword(path) and path not in taken]
    names = ModuleNames.beside([*taken, *paths])
    classes = Classes(names, [*taken, *paths])
    functions = [_write_function(tool, classes) for tool in tools]
    head = [
        *([quote(pack.description)] if pack.description.strip() else []),
        f"import builtins as {names.builtins}",
        f"import typing as {names.typing}",
        f"from . import {VALUES} as {names.values}",
    ]
    places = [f"{path}: {names.values}.ProjectPath" for path in paths]
    return "\n".join(["\n".join(head), *classes.texts, *places, *functions])


def quote(text: str) -> str:
    """Return a text as a docstring, with nothing in it that could end it or act on a terminal."""
    text = clean(text).strip().replace("\\", "\\\\")
    if '"""' in text or text.endswith('"'):
        text = text.replace('"', '\\"')
    return f'"""{text}"""'


def _write_function(tool: StubbedTool, classes: Classes) -> str:
    definition = tool.definition
    parameters = _write_parameters(definition, classes)
    docs = "\n".join(f"    {line}".rstrip() for line in quote(tool.docs).split("\n"))
    result = tool.result
    hint = result.name or f"{definition.tool} Result"
    if result.shape is not None:
        returns = type_of_shape(result.shape, classes, hint)
    else:
        types = SchemaTypes(classes, result.schema, given=False, records=result.records)
        returns = types.type_of(result.schema, hint)
    return f"def {definition.tool}({parameters}) -> {returns}:\n{docs}\n    ...\n"


def _write_parameters(definition: ToolDefinition, classes: Classes) -> str:
    signature, schema = definition.python_signature, definition.parameters
    try:
        if len(signature) > _LONGEST_SIGNATURE:
            raise ValueError("too long to be read")
        [function] = ast.parse(f"def _{signature[signature.find('(') :]}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it is not Python
        return f"*_: {classes.names.any}, **__: {classes.names.any}"
    assert isinstance(function, ast.FunctionDef)
    parameters = list(list_parameters(function.args))
    types = SchemaTypes(classes, definition.parameters, given=True)
    texts: list[str] = []
    # Code may give any argument by its place, but Python wants those without a default first.
    plain = [parameter.default is None for parameter in parameters if not parameter.kind]
    by_keyword = None if plain == sorted(plain, reverse=True) else plain.index(False)
    for place, parameter in enumerate(parameters):
        if place == by_keyword:
            texts.append("*")
        found = mapping_of(schema.get("properties")).get(definition.own_name(parameter.node.arg))
        if parameter.kind == "**":
            found = schema.get("additionalProperties")
        elif parameter.kind == "*":
            found = mapping_of(found).get("items")
        kind = types.type_of(found, f"{definition.tool} {parameter.node.arg}")
        default = " = ..." if parameter.default is not None else ""
        texts.append(f"{parameter.kind}{parameter.node.arg}: {kind}{default}")
    return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class KnownResults:
    _servers: Servers
    _shapes: Shapes

    def of(self, tool: ToolDefinition) -> KnownResult:
        learnt = self._shapes.book.learnt(tool.learns) if tool.learns is not None else None
        if learnt is not None:
            return KnownResult(shape=learnt.shape)
        if tool.source.startswith(PROXY):
            name = tool.original or tool.tool
            with suppress(CallError):  # it was switched off meanwhile
                [server] = self._servers.choose(tool.source.removeprefix(PROXY))
                listed = (each for each in server.memory.shown("tools") if each["name"] == name)
                return KnownResult(result_schema(next(listed, {}).get("outputSchema")))
        if tool.file is None:
            return KnownResult()
        module = _parse(tool.file)
        functions = (node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        returns = next((node.returns for node in functions if node.name == tool.tool), None)
        classes = (node for node in module.body if isinstance(node, ast.ClassDef))
        of_data = {each.name for each in classes if "dataclass" in "".join(map(ast.unparse, each.decorator_list))}
        named = [node.id for node in ast.walk(returns) if isinstance(node, ast.Name)] if returns is not None else []
        records = not of_data.isdisjoint(named)  # what is a dataclass arrives as a record
        name = returns.id if isinstance(returns, ast.Name) else ""
        return KnownResult(AnnotationReader(module).schema(returns), name, records)


@lru_cache(maxsize=4)
def _parse(file: Path) -> ast.Module:
    try:
        return parse_source(file.read_bytes(), file)
    except (OSError, PackLoadError):  # it was there a moment ago
        return ast.Module(body=[], type_ignores=[])
