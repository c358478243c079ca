"""Definitions of a pack read from its file's syntax tree: nothing is imported, nothing of it runs."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.util import decode_source
from pathlib import Path

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.effects import Effect
from ot.errors import PackLoadError
from ot.logs import write_log
from ot.registry.annotations import AnnotationReader
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition, ToolDocs, Touches
from ot.registry.docstrings import parse_docstring
from ot.registry.open_results import leaves_open
from ot.registry.schema_text import ANY, detailed_annotation

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_EFFECTS = {
    f"{module}.{effect}": effect
    for module in ("ot", "ot.effects", "ot_sdk")
    for effect in (Effect.READS, Effect.IDEMPOTENT)
}
"""The decorators that declare an effect, by their full names."""
_BEST_FIRST = frozenset({"ot.effects.best_first", "ot_sdk.best_first"})
_UNDONE_BY = frozenset({"ot.effects.undone_by", "ot_sdk.undone_by"})
_TAKES_ROWS = "ot.values.takes_rows"


def read_pack(file: Path, *, name: str | None = None, cancellation: Cancellation | None = None) -> PackDefinition:
    """Read one pack file; raises PackLoadError with the line where it cannot be understood."""
    # `name` is that of a pack which gives itself none, by default the file's; `cancellation` is how its calls end where
    # the functions themselves do not decide it.
    try:
        content = file.read_bytes()
    except OSError as error:
        raise PackLoadError(file, error.strerror or type(error).__name__) from error
    return parse_pack(content, file, name=name, cancellation=cancellation)


def parse_pack(
    content: bytes, file: Path, *, name: str | None = None, cancellation: Cancellation | None = None
) -> PackDefinition:
    """Read a pack from the content of a file, which mistakes name as `file`; raises PackLoadError."""
    module = parse_source(content, file)
    reader = _PackReader(file, module, name or file.stem, cancellation)
    pack = PackDefinition(
        name=reader.pack,
        description=parse_docstring(ast.get_docstring(module)).summary,
        file=file,
        tools={node.name: reader.definition(node) for node in reader.public_functions()},
        needs=reader.needs(),
    )
    for annotation in dict.fromkeys(reader.annotations.unknown):
        write_log(logging.WARNING, "registry.read_pack", file=file, annotation=annotation, schema="any value")
    return pack


def parse_name(content: bytes, file: Path) -> str | None:
    """Return the name that a pack gives itself, and look at nothing else in it; raises PackLoadError."""
    return _own_name(AnnotationReader(parse_source(content, file)))


def _own_name(annotations: AnnotationReader) -> str | None:
    _, value = annotations.constant(ast.Name("pack"))
    return value if isinstance(value, str) else None


def parse_source(content: bytes, file: Path) -> ast.Module:
    """Parse the content of a file; raises PackLoadError."""
    try:
        # Decoded first: given bytes, the parser lets pass in comments what an import of the file then refuses.
        return _build_tree(decode_source(content), str(file))
    except SyntaxError as error:
        raise PackLoadError(file, f"not valid Python: {error.msg}", error.lineno) from error
    except ValueError as error:
        raise PackLoadError(file, f"not valid Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise PackLoadError(file, "nested too deeply to be read") from error


def _build_tree(source: str, name: str) -> ast.Module:
    """Parse a source; again where Python 3.11 has mistaken another parser for this one."""
    # It counts the depth of a tree for all threads at once, so that a tree which somebody else builds meanwhile, in
    # another thread or in a finalizer, makes it raise SystemError for one that is well.
    for _ in range(10):
        try:
            return ast.parse(source, filename=name)
        except SystemError:
            continue
    return ast.parse(source, filename=name)


@dataclass(frozen=True, slots=True)
class Parameter:
    node: ast.arg
    kind: str  # "" for a plain one, "*" and "**" for those that collect
    default: ast.expr | None
    keyword_only: bool = False


class _PackReader:
    def __init__(self, file: Path, module: ast.Module, name: str, cancellation: Cancellation | None) -> None:
        self._file = file
        self._module = module
        self._cancellation = cancellation
        self.annotations = AnnotationReader(module)
        self._imported = dict(_imports(module))
        self.pack = _own_name(self.annotations) or name
        self._secrets = self._names_constant("secrets") or ()
        timeout = self._constant("timeout") if cancellation is None else None  # of a built-in pack that waits
        self._timeout = float(timeout) if isinstance(timeout, int | float) and not isinstance(timeout, bool) else None
        if not self.pack.isidentifier():
            raise PackLoadError(file, f"{self.pack!r} cannot be the name of a pack: it is not an identifier")

    def public_functions(self) -> Iterator[FunctionNode]:
        """The functions that are tools: those `__all__` names, or all without a leading underscore."""
        exported = self._names_constant("__all__")
        functions = {n.name: n for n in self._module.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        for name, node in functions.items():
            if not name.startswith("_") if exported is None else name in exported:
                yield node

    def needs(self) -> dict[str, str]:
        """The constant `needs`: modules that its isolated tools import, to requirements of those who install them."""
        value = self._constant("needs")
        pairs = value.items() if isinstance(value, dict) else ()
        return {str(module): str(requirement) for module, requirement in pairs}

    def definition(self, node: FunctionNode) -> ToolDefinition:
        """The definition of one function; arguments reach tools by name, so it must accept them so."""
        if node.args.posonlyargs:
            raise PackLoadError(self._file, f"{node.name} has positional-only parameters", node.lineno)
        if node.args.vararg and node.args.args:
            raise PackLoadError(self._file, f"{node.name} has parameters before *{node.args.vararg.arg}", node.lineno)
        docs = parse_docstring(ast.get_docstring(node))
        decorators = set(map(self._full_name, node.decorator_list))
        effects = {_EFFECTS.get(decorator) for decorator in decorators}  # of which the strongest counts
        declared = next((each for each in (Effect.READS, Effect.IDEMPOTENT) if each in effects), Effect.UNKNOWN)
        cancellation = self._cancellation or _cancellation(node)
        parameters = list(list_parameters(node.args))
        name = f"{self.pack}.{node.name}"
        signature = _signature(name, parameters, node.returns, self._annotate)
        plain = _signature(name, parameters, node.returns, ast.unparse)
        return ToolDefinition(
            name=name,
            description=docs.summary or signature,
            parameters=self._object_schema(parameters, docs),
            signature=signature,
            cancellation=cancellation,
            file=self._file,
            docs=docs,
            timeout=self._timeout,
            secrets=self._secrets,
            variadic=next((p.node.arg for p in parameters if p.kind == "*"), None),
            declared=declared,
            undone_by=self._inverse(node),
            best_first=not decorators.isdisjoint(_BEST_FIRST),
            # A helper process makes lists of them itself.
            takes_rows=_TAKES_ROWS in decorators or cancellation is Cancellation.ISOLATED,
            touches=self._touches(node, [parameter.node.arg for parameter in parameters]),
            plain_signature=plain if plain != signature else "",
            open_result=self._open_result(node.returns),
        )

    def _open_result(self, returns: ast.expr | None) -> str | None:
        """The declared result of a worker's tool, where it leaves open what comes back."""
        if self._cancellation is not Cancellation.WORKER:
            return None
        result = self.annotations.another().schema(returns)
        return (self._annotate(returns) if returns else "") if leaves_open(result, result) else None

    def _annotate(self, annotation: ast.expr) -> str:
        """An annotation as it is shown: what the file gives a name to is written out."""
        if not self.annotations.names_own(annotation):
            return ast.unparse(annotation)
        schema = self.annotations.another().schema(annotation)
        text = detailed_annotation(schema, schema)
        return text if text not in (ANY, "dict", "list", "list[dict]") else ast.unparse(annotation)

    def _touches(self, node: FunctionNode, parameters: list[str]) -> Touches:
        """The declaration in `@isolated(reads=...)`; one that cannot be read is a mistake, and not an empty one."""
        calls = [call for call in node.decorator_list if isinstance(call, ast.Call) and _last_name(call) == "isolated"]
        declared = {str(word.arg): self._texts(word.value) for call in calls for word in call.keywords}
        if None in declared.values() or not declared.keys() <= {field.name for field in fields(Touches)}:
            reason = "@isolated takes reads, writes, outputs and hosts, each a list of constant strings"
            raise PackLoadError(self._file, f"{node.name}: {reason}", node.lineno)
        touches = Touches(**{name: places or () for name, places in declared.items()})
        filled = {f"{{{name}}}" for name in parameters}
        if mistake := touches.find_mistake(filled):
            raise PackLoadError(self._file, f"{node.name}: {mistake}", node.lineno)
        return touches

    def _inverse(self, node: FunctionNode) -> dict[str, str]:
        """The declaration in `@undone_by(...)`: the tool, and where its arguments come from."""
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and self._full_name(call.func) in _UNDONE_BY:
                words = {"tool": call.args[0] if call.args else None, **{str(k.arg): k.value for k in call.keywords}}
                found = {name: value.value for name, value in words.items() if isinstance(value, ast.Constant)}
                texts = {name: value for name, value in found.items() if isinstance(value, str)}
                if len(texts) < len(words) or len(call.args) != 1:
                    reason = '@undone_by takes the name of a tool, and texts such as id="result.id"'
                    raise PackLoadError(self._file, f"{node.name}: {reason}", node.lineno)
                return texts
        return {}

    def _texts(self, value: ast.expr) -> tuple[str, ...] | None:
        _, found = self.annotations.constant(value)
        if not isinstance(found, list | tuple):
            return None
        texts = tuple(text for text in found if isinstance(text, str))
        return texts if len(texts) == len(found) else None

    def _full_name(self, decorator: ast.expr) -> str:
        first, _, rest = ast.unparse(decorator).partition(".")
        known = self._imported.get(first, first)
        return f"{known}.{rest}" if rest else known

    def _object_schema(self, parameters: list[Parameter], docs: ToolDocs) -> JsonObject:
        properties: JsonObject = {}
        required: list[Json] = []
        additional: bool | JsonObject = False
        for parameter in parameters:
            name = parameter.node.arg
            schema = self.annotations.schema(parameter.node.annotation)
            if parameter.kind == "**":
                additional = schema or True
                continue
            if parameter.kind == "*":
                schema = {"type": "array", "items": schema}
            if docs.arguments.get(name):
                schema["description"] = docs.arguments[name]
            if parameter.default is not None:
                known, default = self.annotations.constant(parameter.default)
                if known:
                    schema["default"] = default
            elif not parameter.kind:
                required.append(name)
            properties[name] = schema
        demanded: JsonObject = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **demanded, "additionalProperties": additional}

    def _constant(self, name: str) -> object:
        """The value of a constant of the file; None where there is none."""
        return self.annotations.constant(ast.Name(name))[1]

    def _names_constant(self, name: str) -> tuple[str, ...] | None:
        value = self._constant(name)
        return tuple(map(str, value)) if isinstance(value, (list, tuple, set)) else None


def _imports(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that the file imports, with what they stand for: `mark` for `from ot_sdk import reads as mark`."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)


def list_parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = len(plain) - len(arguments.defaults)
    for node, default in zip(plain, [*([None] * missing), *arguments.defaults], strict=True):
        yield Parameter(node, "", default)
    if arguments.vararg:
        yield Parameter(arguments.vararg, "*", None)
    for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Parameter(node, "", default, keyword_only=True)
    if arguments.kwarg:
        yield Parameter(arguments.kwarg, "**", None)


def _signature(
    name: str, parameters: list[Parameter], returns: ast.expr | None, annotate: Callable[[ast.expr], str]
) -> str:
    parts: list[str] = []
    for parameter in parameters:
        if parameter.keyword_only and not any(part.startswith("*") for part in parts):
            parts.append("*")
        annotation, text = parameter.node.annotation, parameter.kind + parameter.node.arg
        if annotation:
            text += f": {annotate(annotation)}"
        if parameter.default:
            text += (" = " if annotation else "=") + ast.unparse(parameter.default)
        parts.append(text)
    return f"{name}({', '.join(parts)})" + (f" -> {annotate(returns)}" if returns else "")


def _cancellation(node: FunctionNode) -> Cancellation:
    """Return how a call of it ends: by its marks, then by `async`."""
    marks = {_last_name(decorator) for decorator in node.decorator_list}
    if "in_kernel" in marks:
        return Cancellation.KERNEL
    if "isolated" in marks:
        return Cancellation.ISOLATED
    return Cancellation.ASYNC if isinstance(node, ast.AsyncFunctionDef) else Cancellation.PLAIN


def _last_name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
