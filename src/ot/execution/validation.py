"""Arguments of a call: bound to names, made to fit where nothing can be lost, and checked against the tool's schema."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NoReturn

from mcp_core.json_types import Schema, list_of, mapping_of
from ot.errors import ToolArgumentError
from ot.execution.call import Call, Step
from ot.execution.checkable import Check, checkable, compile_check
from ot.execution.problems import word_problems
from ot.registry.definitions import ToolDefinition
from ot.registry.schema_copy import names_in
from ot.tasks.large_values import MOST, aside_if_large
from ot.values import PLAIN, Arguments, Rows, ToolValue


def fit(value: ToolValue, schema: Schema) -> ToolValue:
    """Return the value as the schema wants it, or itself; an unrestricted schema changes nothing."""
    if type(value) in PLAIN or not schema:
        return value
    if isinstance(value, os.PathLike):
        return str(value) if _accepts(schema, "string") else value
    if type(value) is float:
        whole = value.is_integer() and _accepts(schema, "integer") and not _accepts(schema, "number")
        return int(value) if whole else value
    if isinstance(value, (list, tuple, set, frozenset)):
        return _fit_items(value, schema)
    if isinstance(value, dict):
        return _fit_fields(value, schema)
    return value


def _fit_items(value: Sequence[ToolValue] | AbstractSet[ToolValue], schema: Schema) -> ToolValue:
    branch = _branch(schema, "array")
    if branch is None:
        return value
    items = mapping_of(branch.get("items"))
    # Nothing is made to fit in objects of whose fields nothing is said.
    fields = items.get("properties") or mapping_of(items.get("additionalProperties"))
    left_alone = PLAIN | {dict} if items.get("type") == "object" and not fields else PLAIN
    if items and not set(map(type, value)) <= left_alone:
        return [fit(item, items) for item in value]
    return value if isinstance(value, list) else list(value)


def _takes_any_rows(schema: Schema, row: str) -> bool:
    """True if a schema that is checked says no more about rows than what they are, so that one stands for all."""
    if schema.get("type") == "array" or not schema:
        return schema.keys() <= {"type", "items"} and schema.get("items", {}) in ({}, {"type": row})
    return any(_takes_any_rows(mapping_of(branch), row) for branch in list_of(schema.get("anyOf")))


def _fit_fields(value: Mapping[str, ToolValue], schema: Schema) -> Arguments:
    branch = _branch(schema, "object")
    if branch is None or all(type(item) in PLAIN for item in value.values()):
        return value
    properties, rest = mapping_of(branch.get("properties")), mapping_of(branch.get("additionalProperties"))
    return {name: fit(item, mapping_of(properties.get(name, rest))) for name, item in value.items()}


def _accepts(schema: Schema, kind: str) -> bool:
    return _branch(schema, kind) is not None


def _branch(schema: Schema, kind: str) -> Schema | None:
    """Return the part of a schema that accepts this type by name."""
    types = schema.get("type")
    if types == kind or (isinstance(types, list) and kind in types):
        return schema
    branches = (_branch(mapping_of(inner), kind) for inner in list_of(schema.get("anyOf")))
    return next((found for found in branches if found is not None), None)


_PROBLEM_LIMIT = 20
_MOST_EXPLAINED = 1_000  # items of a list: to word what is wrong with many takes long, and few are told


class ArgumentStep(Step):
    """Binds the arguments of one tool and checks them; the checker's code is generated once, on its first call."""

    __slots__ = ("_accept", "_definition", "_explain", "_fields", "_names", "_schema")

    def __init__(self, definition: ToolDefinition) -> None:
        self._definition = definition
        self._schema = checkable(definition.parameters)
        self._fields = mapping_of(self._schema.get("properties"))
        properties = definition.parameters.get("properties")
        self._names = tuple(properties) if isinstance(properties, dict) else ()
        self._accept = compile_check(self._schema, fast_fail=True)
        self._explain: Check | None = None

    def begin(self, call: Call) -> Awaitable[None] | None:
        if not 0 < len(call.sent) <= MOST:  # bytes, and so no more items
            return self._bind_aside(call)
        call.bound = self.bind(call.positional, call.arguments)
        return None

    async def _bind_aside(self, call: Call) -> None:
        given = (call.positional, call.arguments) if call.positional else call.arguments
        call.bound = await aside_if_large(given, self.bind, call.positional, call.arguments)

    def bind(self, positional: Sequence[ToolValue], keywords: Arguments, *, whole: bool = True) -> dict[str, ToolValue]:
        """Arguments by name, in a new dict; raises ToolArgumentError with every problem there is.

        Where they are not `whole`, because results are missing in them, only their names are checked.
        """
        if type(keywords) is not dict and not isinstance(keywords, Mapping):
            self._refuse([f"the arguments must be an object, not {type(keywords).__name__}"])
        if self._definition.spellings:  # as the server knows them, whichever of its two spellings each was given in
            own_name, given = self._definition.own_name, keywords
            keywords = {own_name(name): value for name, value in given.items()}
            if len(keywords) < len(given):
                self._refuse([f"{name} is given twice" for name in given if own_name(name) != name])
        arguments = self._bind_positional(positional, keywords) if positional else dict(keywords)
        by_column: dict[str, ToolValue] = {}
        for name, value in arguments.items():
            if type(value) not in PLAIN:
                arguments[name] = self._fit(name, value, by_column)
        try:
            if whole:
                self._accept(arguments)
            elif problems := self._name_problems(arguments):
                self._refuse(problems)
        except (ValueError, TypeError) as error:
            self._refuse(self._problems(arguments) or [f"the arguments{str(error).removeprefix('data')}"])
        return arguments | by_column if by_column else arguments

    def _fit(self, name: str, value: ToolValue, by_column: dict[str, ToolValue]) -> ToolValue:
        """Make a value fit; rows that the tool takes `by_column` are put there, and one row stands for all of them."""
        schema = mapping_of(self._fields.get(name))
        if type(value) is not Rows:
            return fit(value, schema)
        row: ToolValue = [] if value.names is None else {}
        if not (self._definition.takes_rows and _takes_any_rows(schema, "array" if row == [] else "object")):
            return fit(value.to_list(), schema)
        by_column[name] = value
        return [row]

    def _bind_positional(self, positional: Sequence[ToolValue], keywords: Arguments) -> dict[str, ToolValue]:
        names = self._names
        variadic = self._definition.variadic
        if variadic is not None:
            return {variadic: [each.to_list() if type(each) is Rows else each for each in positional], **keywords}
        if len(positional) > len(names):
            self._refuse([f"{len(positional)} positional arguments given, it takes at most {len(names)}"])
        arguments = dict(zip(names, positional, strict=False))
        twice = [name for name in arguments if name in keywords]
        if twice:
            self._refuse([f"{self._definition.shown_name(name)} is given twice" for name in twice])
        return {**arguments, **keywords}

    def _name_problems(self, arguments: Arguments) -> list[str]:
        required = names_in(self._schema.get("required"))
        problems = [f"{self._definition.shown_name(name)} is missing" for name in required if name not in arguments]
        if self._schema.get("additionalProperties") is False:
            problems += [f"{name!s} is not a parameter" for name in arguments if name not in self._fields]
        return problems

    def _problems(self, arguments: Arguments) -> list[str]:
        problems = self._name_problems(arguments)
        known = {
            name: value[:_MOST_EXPLAINED] if type(value) is list else value
            for name, value in arguments.items()
            if name in self._fields
        }
        if self._explain is None:
            self._explain = compile_check({"type": "object", "properties": {**self._fields}}, fast_fail=False)
        try:
            problems += map(self._as_shown, word_problems(self._explain, known, whole="the arguments"))
        except TypeError as error:
            problems.append(str(error))
        return list(dict.fromkeys(problems))[:_PROBLEM_LIMIT]

    def _as_shown(self, phrase: str) -> str:
        """A phrase that begins with a parameter, named as in the signature beside it."""
        for shown, name in self._definition.spellings.items():
            if phrase.startswith((f"{name} ", f"{name}.", f"{name}[", f"{name}:")):
                return shown + phrase.removeprefix(name)
        return phrase

    def _refuse(self, problems: list[str]) -> NoReturn:
        raise ToolArgumentError(self._definition.name, problems, self._definition.signature) from None


def find_problems(schema: Schema, value: object) -> list[str]:
    """Return what is wrong with a value, in short phrases; none if it fits what is checked of the schema."""
    check = compile_check(checkable(schema), fast_fail=False)
    return word_problems(check, value, whole="the value")[:_PROBLEM_LIMIT]


def load_compiler() -> None:
    """Load what makes the checkers, ahead of the first call that needs one: the first is twice the work of others."""
    compile_check({"type": "object", "properties": {"text": {"type": "string"}}}, fast_fail=True)
