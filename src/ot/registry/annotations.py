"""JSON Schema from annotations in a syntax tree: a closed set of forms, nothing is imported.

Understood are builtins, `Any`, `Literal`, unions, containers, `Annotated`, and the TypedDicts, dataclasses and
constants of the same file. Everything else has the schema `{}`, which accepts any value, and is noted in `unknown`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial

from mcp_core.json_types import Json, JsonObject

_SIMPLE: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "list": {"type": "array"},
    "tuple": {"type": "array"},
    "set": {"type": "array", "uniqueItems": True},
    "frozenset": {"type": "array", "uniqueItems": True},
    "dict": {"type": "object"},
    # JSON has no form of its own for these: any value passes, and the tool decides.
    "Any": {},
    "object": {},
    "bytes": {},
}
_BUILTIN_NAMES = {
    **dict.fromkeys(("List", "Sequence", "Iterable", "Collection"), "list"),
    **dict.fromkeys(("Dict", "Mapping", "MutableMapping"), "dict"),
    "Tuple": "tuple",
    "Set": "set",
    "FrozenSet": "frozenset",
}

_DEEPEST = 8  # classes inside classes; nothing deeper is checked or shown either
_MOST_FOLLOWED = 60  # names in one annotation: hundreds of classes that mention each other would never end


class AnnotationReader:
    def __init__(self, module: ast.Module) -> None:
        self.unknown: list[str] = []
        self._left = 0
        self._classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
        self._constants = dict(_module_constants(module))
        self._open: list[str] = []  # names being followed, so that a type may mention itself

    def schema(self, node: ast.expr | None) -> JsonObject:
        """The schema of one annotation; a missing one accepts anything."""
        match node:
            case None:
                return {}
            case ast.Constant(value=None):
                return _simple("None")
            case ast.Constant(value=str(text)):
                try:
                    return self.schema(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return self._not_understood(node)
            case ast.BinOp(op=ast.BitOr()):
                return _any_of([self.schema(node.left), self.schema(node.right)])
            case ast.Subscript():
                return self._generic(_last_name(node.value), node)
            case ast.Name() | ast.Attribute():
                return self._named(_last_name(node), node)
        return self._not_understood(node)

    def another(self) -> AnnotationReader:
        """Return a reader of the same module that has met nothing unknown yet."""
        reader = copy.copy(self)
        reader.unknown, reader._open = [], []  # noqa: SLF001 - of the same class
        return reader

    def names_own(self, node: ast.expr) -> bool:
        """True if an annotation names a class or a constant of the file."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return not names.isdisjoint([*self._classes, *self._constants])

    def constant(self, node: ast.expr) -> tuple[bool, Json]:
        """Tell whether an expression is a constant of the file, and return its value."""
        if isinstance(node, ast.Name) and node.id in self._constants:
            node = self._constants[node.id]
        try:
            return True, ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False, None

    def _named(self, name: str, node: ast.expr) -> JsonObject:
        if isinstance(node, ast.Name) and name in self._open:
            return {}
        if not self._open:
            self._left = _MOST_FOLLOWED
        self._left -= 1
        if isinstance(node, ast.Name) and name in self._classes:
            if len(self._open) >= _DEEPEST or self._left < 0:
                return {}
            return self._followed(name, partial(self._class, self._classes[name]))
        if isinstance(node, ast.Name) and name in self._constants:
            return self._followed(name, partial(self.schema, self._constants[name]))
        name = _BUILTIN_NAMES.get(name, name)
        return _simple(name) if name in _SIMPLE else self._not_understood(node)

    def _followed(self, name: str, read: Callable[[], JsonObject]) -> JsonObject:
        self._open.append(name)
        try:
            return read()
        finally:
            self._open.pop()

    def _generic(self, name: str, node: ast.Subscript) -> JsonObject:
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match _BUILTIN_NAMES.get(name, name):
            case "Literal":
                return self._literal(arguments, node)
            case "Optional":
                return _any_of([self.schema(arguments[0]), _simple("None")])
            case "Union":
                return _any_of([self.schema(argument) for argument in arguments])
            case "Annotated":
                return self._annotated(arguments)
            case "Required" | "NotRequired" | "ReadOnly" | "Final" | "InitVar":
                return self.schema(arguments[0])
            case "list" | "set" | "frozenset" as container:
                return {**_simple(container), "items": self.schema(arguments[0])}
            case "tuple":
                return self._tuple(arguments)
            case "dict" if len(arguments) == 2:
                return {"type": "object", "additionalProperties": self.schema(arguments[1])}
        return self._not_understood(node)

    def _literal(self, arguments: list[ast.expr], node: ast.expr) -> JsonObject:
        values = [self.constant(argument) for argument in arguments]
        if not all(known for known, _ in values):
            return self._not_understood(node)
        schema: JsonObject = {"enum": [value for _, value in values]}
        if all(type(value) is str for _, value in values):
            schema["type"] = "string"
        return schema

    def _annotated(self, arguments: list[ast.expr]) -> JsonObject:
        schema = self.schema(arguments[0])
        for extra in arguments[1:]:
            known, text = self.constant(extra)
            if known and isinstance(text, str):
                return {**schema, "description": text}
        return schema

    def _tuple(self, arguments: list[ast.expr]) -> JsonObject:
        if len(arguments) == 2 and isinstance(arguments[1], ast.Constant) and arguments[1].value is Ellipsis:
            return {"type": "array", "items": self.schema(arguments[0])}
        items: list[Json] = [self.schema(argument) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _class(self, node: ast.ClassDef) -> JsonObject:
        bases = [_last_name(base) for base in node.bases]
        decorators = [_last_name(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list]
        if "dataclass" not in decorators and not {"TypedDict", *self._classes}.intersection(bases):
            return self._not_understood(ast.Name(node.name))
        properties: JsonObject = {}
        required: list[Json] = []
        for base in bases:
            if base in self._classes and base not in self._open:
                inherited = self._followed(base, partial(self._class, self._classes[base]))
                if isinstance(fields := inherited.get("properties"), dict):
                    properties |= fields
                if isinstance(names := inherited.get("required"), list):
                    required += names
        total = not any(k.arg == "total" and self.constant(k.value) == (True, False) for k in node.keywords)
        for name, annotation, optional in _fields(node, total=total):
            properties[name] = self.schema(annotation)
            if not optional:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _not_understood(self, node: ast.expr) -> JsonObject:
        self.unknown.append(ast.unparse(node))
        return {}


def _simple(name: str) -> JsonObject:
    return dict(_SIMPLE[name])


def _any_of(schemas: list[JsonObject]) -> JsonObject:
    """One type list where that says it all; anything at all where one branch accepts anything."""
    branches: list[Json] = []
    for schema in schemas:
        inner = schema.get("anyOf")
        branches += inner if isinstance(inner, list) else [schema]
    if not all(branches):
        return {}
    kinds = [branch["type"] for branch in branches if isinstance(branch, dict) and branch.keys() == {"type"}]
    if len(kinds) == len(branches):
        unique = list(dict.fromkeys(t for kind in kinds for t in (kind if isinstance(kind, list) else [kind])))
        return {"type": unique if len(unique) > 1 else unique[0]}
    return {"anyOf": branches}


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _module_constants(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield name, value


def _fields(node: ast.ClassDef, *, total: bool) -> Iterator[tuple[str, ast.expr, bool]]:
    """Name, annotation and whether it may be missing, of each field of a TypedDict or dataclass."""
    for item in node.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        outer = _last_name(item.annotation.value if isinstance(item.annotation, ast.Subscript) else item.annotation)
        given = _field_options(item.value)
        if outer in ("ClassVar", "KW_ONLY") or given.get("init") is False:
            continue
        has_default = item.value is not None if not given else bool(given.keys() & {"default", "default_factory"})
        optional = outer == "NotRequired" or has_default or (not total and outer != "Required")
        yield item.target.id, item.annotation, optional


def _field_options(value: ast.expr | None) -> dict[str, object]:
    """The arguments of `field(...)` in a dataclass: the value of each that is a constant, else None."""
    if not isinstance(value, ast.Call) or _last_name(value.func) != "field":
        return {}
    constants = ((word.arg, word.value) for word in value.keywords if word.arg)
    return {"": None} | {name: node.value if isinstance(node, ast.Constant) else None for name, node in constants}
