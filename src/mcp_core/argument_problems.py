"""Problems with the arguments of a call, as short phrases instead of a validation library's own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pydantic import ValidationError

from mcp_core.json_types import Schema, mapping_of
from mcp_core.schema_text import describe_type, follow

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_JSON_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_SAID_BY_US = ("Value error, ", "Assertion failed, ")  # put by pydantic before what our own validators say

Place = tuple[str | int, ...]


class ArgumentProblemsError(ValueError):
    """Arguments that a tool does not accept: each problem as a phrase, and what it accepts instead."""

    def __init__(self, tool: str, problems: Sequence[str], expected: str) -> None:
        super().__init__(tool, *problems)
        self.tool = tool
        self.problems = tuple(problems)
        self.expected = expected

    def __str__(self) -> str:
        problems = "\n".join(f"- {problem}" for problem in self.problems)
        return f"The arguments of {self.tool} do not fit:\n{problems}\nExpected:\n{self.expected or '- none'}"


def explain(
    error: ValidationError, arguments: Mapping[str, object], *, tool: str, schema: Schema, expected: str
) -> ArgumentProblemsError:
    """Word a failed validation of the arguments of a tool; `expected` lists what `schema` accepts."""
    details = [(_find_place(detail, arguments), detail) for detail in error.errors(include_url=False)]
    problems = [
        _phrase(place, [detail for _, detail in group], schema)
        for place, group in groupby(details, key=lambda item: item[0])
    ]
    return ArgumentProblemsError(tool, problems, expected)


def _find_place(detail: ErrorDetails, arguments: object) -> Place:
    """Find where in the arguments it is; pydantic's location also names branches of unions, which were not sent."""
    place: list[str | int] = []
    at = arguments
    for step in detail["loc"]:
        parts = dict(enumerate(at)) if isinstance(at, list) else at
        if isinstance(parts, Mapping) and step in parts:
            at = parts[step]
            place.append(step)
    if detail["type"] == "missing":
        place.append(detail["loc"][-1])
    return tuple(place)


def _phrase(place: Place, details: Sequence[ErrorDetails], schema: Schema) -> str:
    where = ".".join(map(str, place)) or "arguments"
    kinds = {detail["type"] for detail in details}
    if kinds == {"missing"}:
        return f"{where}: missing"
    if kinds == {"extra_forbidden"}:
        return f"{where}: there is no such argument"
    if len(place) == 1 and all(kind.endswith(("_type", "_parsing")) for kind in kinds):
        field = mapping_of(mapping_of(follow(schema, schema).get("properties")).get(str(place[0])))
        sent = type(details[0]["input"])
        return f"{where}: expected {describe_type(field, schema)}, got {_JSON_NAMES.get(sent, sent.__name__)}"
    return f"{where}: {' or '.join(dict.fromkeys(map(_said, details)))}"


def _said(detail: ErrorDetails) -> str:
    text = detail["msg"]
    for prefix in _SAID_BY_US:
        if text.startswith(prefix):
            return text.removeprefix(prefix)
    return f"{text[:1].lower()}{text[1:]}"
