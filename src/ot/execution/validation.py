"""Arguments of a call: bound to names, made to fit, and checked against the tool's schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from mcp_core.json_types import JsonObject, Schema
from ot.errors import ToolArgumentError
from ot.execution.checkable import checkable
from ot.execution.fitting import PLAIN, fit
from ot.registry.definitions import ToolDefinition
from ot.values import Arguments, ToolValue

_PYTHON_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
_PROBLEM_LIMIT = 20


class ArgumentCheck:
    """The checker of one tool; its code is generated once, on the tool's first call."""

    def __init__(self, definition: ToolDefinition) -> None:
        self._definition = definition
        self._schema = checkable(definition.parameters)
        self._fields: JsonObject = self._schema.get("properties", {})
        properties = definition.parameters.get("properties")
        self._names = tuple(properties) if isinstance(properties, dict) else ()
        self._accept = _compile(self._schema, fast_fail=True)
        self._explain: Callable[[object], object] | None = None

    def bind(self, positional: Sequence[ToolValue], keywords: Arguments) -> dict[str, ToolValue]:
        """Arguments by name, in a new dict; raises ToolArgumentError with every problem there is."""
        if type(keywords) is not dict and not isinstance(keywords, Mapping):
            self._refuse([f"the arguments must be an object, not {type(keywords).__name__}"])
        if self._definition.spellings:
            keywords = self._by_own_names(keywords)
        arguments = self._bind_positional(positional, keywords) if positional else dict(keywords)
        for name, value in arguments.items():
            if type(value) not in PLAIN:
                arguments[name] = fit(value, self._fields.get(name, {}))
        try:
            self._accept(arguments)
        except (ValueError, TypeError) as error:
            self._refuse(self._problems(arguments) or [f"the arguments{str(error).removeprefix('data')}"])
        return arguments

    def _by_own_names(self, keywords: Arguments) -> dict[str, ToolValue]:
        """Keywords as the server knows them, whichever of its two spellings each was given in."""
        definition = self._definition
        renamed = {definition.own_name(name): value for name, value in keywords.items()}
        if len(renamed) < len(keywords):
            twice = [f"{name} is given twice" for name in keywords if definition.own_name(name) != name]
            self._refuse(twice)
        return renamed

    def _bind_positional(self, positional: Sequence[ToolValue], keywords: Arguments) -> dict[str, ToolValue]:
        names = self._names
        variadic = self._definition.variadic
        if variadic is not None:
            return {variadic: list(positional), **keywords}
        if len(positional) > len(names):
            self._refuse([f"{len(positional)} positional arguments given, it takes at most {len(names)}"])
        arguments = dict(zip(names, positional, strict=False))
        twice = [name for name in arguments if name in keywords]
        if twice:
            self._refuse([f"{self._definition.shown_name(name)} is given twice" for name in twice])
        return {**arguments, **keywords}

    def _problems(self, arguments: Arguments) -> list[str]:
        required = self._schema.get("required", ())
        problems = [f"{self._definition.shown_name(name)} is missing" for name in required if name not in arguments]
        if self._schema.get("additionalProperties") is False:
            problems += [f"{name!s} is not a parameter" for name in arguments if name not in self._fields]
        known = {name: value for name, value in arguments.items() if name in self._fields}
        if self._explain is None:
            self._explain = _compile({"type": "object", "properties": self._fields}, fast_fail=False)
        try:
            self._explain(known)
        except ValueError as error:
            problems += [self._as_shown(_phrase(one)) for one in getattr(error, "errors", [error])]
        except TypeError as error:
            problems.append(str(error))
        return list(dict.fromkeys(problems))[:_PROBLEM_LIMIT]

    def _as_shown(self, phrase: str) -> str:
        """A phrase that begins with a parameter, named as in the signature beside it."""
        for shown, name in self._definition.spellings.items():
            if phrase.startswith((f"{name} ", f"{name}.", f"{name}[")):
                return shown + phrase.removeprefix(name)
        return phrase

    def _refuse(self, problems: list[str]) -> NoReturn:
        raise ToolArgumentError(self._definition.name, problems, self._definition.signature) from None


def find_problems(schema: Schema, value: object) -> list[str]:
    """Return what is wrong with a value, in short phrases; none if it fits what is checked of the schema."""
    check = _compile(checkable(schema), fast_fail=False)
    try:
        check(value)
    except ValueError as error:
        problems = [_phrase(one, whole="the value") for one in getattr(error, "errors", [error])]
        return list(dict.fromkeys(problems))[:_PROBLEM_LIMIT]
    return []


def load_compiler() -> None:
    """Load what makes the checkers, ahead of the first call that needs one: the first is twice the work of others."""
    _compile({"type": "object", "properties": {"text": {"type": "string"}}}, fast_fail=True)


def _compile(schema: JsonObject, *, fast_fail: bool) -> Callable[[object], object]:
    import fastjsonschema  # noqa: PLC0415 - start-up path: a server that was not called yet needs no schema compiler

    compiled: Callable[[object], object] = fastjsonschema.compile(
        schema,
        handlers=_NoHandlers(),
        use_default=False,
        use_formats=False,
        detailed_exceptions=not fast_fail,
        fast_fail=fast_fail,
    )
    return compiled


class _NoHandlers(dict[str, Callable[[str], NoReturn]]):
    """A second lock on a closed door: the schema holds no reference, and none would be fetched."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], NoReturn]:
        def refuse(address: str) -> NoReturn:
            raise ValueError(f"a schema may not refer to {address}")

        return refuse


def _phrase(error: ToolValue, *, whole: str = "the arguments") -> str:
    """One problem in words, with Python's names of types; `error` is the library's JsonSchemaValueException."""
    place = str(error.name or "").removeprefix("data").lstrip(".") or whole
    match error.rule:
        case "type":
            return f"{place} must be {_types_of(error.definition)}, not {type(error.value).__name__}"
        case "anyOf":
            return f"{place} must be {_types_of(error.definition)}"
        case "enum":
            return f"{place} must be one of {', '.join(map(repr, error.definition['enum']))}"
    return f"{place} {error.message.removeprefix(str(error.name)).strip()}"


def _types_of(schema: Schema) -> str:
    branches = schema.get("anyOf", [schema])
    names: list[str] = []
    for branch in branches:
        types = branch.get("type", "anything")
        names += [types] if isinstance(types, str) else types
        if "enum" in branch:
            names[-1:] = list(map(repr, branch["enum"]))
    return " or ".join(dict.fromkeys(_PYTHON_NAMES.get(name, name) for name in names))
