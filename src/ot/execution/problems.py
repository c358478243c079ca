"""The problems of a value: at which place in it, with which key, and which of several forms it nearly has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from mcp_core.json_types import Json, Schema, list_of, mapping_of
from ot.execution.checkable import Check, compile_check

_MOST_FORMS = 5  # of a union that are compared with a value
_MOST_KEYS = 5
_LONGEST_KEY = 60  # characters
_PYTHON_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


class Problem(NamedTuple):
    """One thing that is wrong with the value at one place, or with one of its keys."""

    place: str
    text: str
    of_key: bool = False


class Failure(Protocol):
    """One failure, as the schema compiler raises it: a JsonSchemaValueException."""

    name: str | None
    rule: str
    definition: object
    value: object
    message: str


def word_problems(check: Check, value: object, *, whole: str) -> list[str]:
    """Return what a checker finds, in short phrases, each once; `whole` is how the value itself is called."""
    found = groupby(find_problems_of(check, value), key=lambda problem: (problem.place, problem.of_key))
    phrases: list[str] = []
    for (place, of_keys), problems in found:
        texts = list(dict.fromkeys(problem.text for problem in problems))
        where = place.lstrip(".") or whole
        phrases += [f"{where}: {'; '.join(texts)}"] if of_keys else [f"{where} {text}" for text in texts]
    return list(dict.fromkeys(phrases))


def find_problems_of(check: Check, value: object) -> list[Problem]:
    try:
        check(value)
    except ValueError as error:
        return [problem for one in getattr(error, "errors", [error]) for problem in _read(one)]
    return []


def _read(error: Failure) -> Iterator[Problem]:
    place, schema = str(error.name or "").removeprefix("data"), mapping_of(error.definition)
    match error.rule:
        case "type":
            yield Problem(place, f"must be {_types_of(schema)}, not {type(error.value).__name__}")
        case "anyOf":
            near = _nearest_form(list_of(schema["anyOf"]), error.value)
            yield from (one._replace(place=place + one.place) for one in near)
            if not near:
                yield Problem(place, f"must be {_types_of(schema)}")
        case "enum":
            yield Problem(place, f"must be one of {', '.join(map(repr, list_of(schema['enum'])))}")
        case "required":
            missing = [name for name in list_of(schema["required"]) if name not in mapping_of(error.value)]
            yield from (Problem(place, f'"{name}" is missing', of_key=True) for name in missing[:_MOST_KEYS])
            yield from _unknown_keys(place, error.value, schema)
        case "additionalProperties":
            yield from _unknown_keys(place, error.value, schema)
        case _:
            yield Problem(place, error.message.removeprefix(str(error.name)).strip())


def _unknown_keys(place: str, value: object, schema: Schema) -> Iterator[Problem]:
    known = mapping_of(schema.get("properties"))
    unknown = [key for key in mapping_of(value) if key not in known] if known else []
    for key in unknown[:_MOST_KEYS]:
        yield Problem(place, f'"{str(key)[:_LONGEST_KEY]}" is not a key', of_key=True)


def _nearest_form(forms: Sequence[Json], value: object) -> list[Problem]:
    """Return the problems with the form of a union that a dict or a list comes nearest to; none if it has neither."""
    kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
    fitting = [form for form in forms if isinstance(form, dict) and kind in _types(form)][:_MOST_FORMS]
    found = [find_problems_of(compile_check(form, fast_fail=False), value) for form in fitting]
    return min(found, key=len, default=[])


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else [str(name) for name in list_of(types)]


def _types_of(schema: Schema) -> str:
    names: list[str] = []
    branches: Sequence[object] = list_of(schema.get("anyOf")) or [schema]
    for branch in map(mapping_of, branches):
        names += _types(branch) or ["anything"]
        if "enum" in branch:
            names[-1:] = list(map(repr, list_of(branch["enum"])))
    return " or ".join(dict.fromkeys(_PYTHON_NAMES.get(name, name) for name in names))
