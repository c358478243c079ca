"""What is wrong with the arguments of a call, as short phrases instead of a validation library's own text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from mcp_core.schema_text import describe_type

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from mcp_core.tool_arguments import ToolArguments

_JSON_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class ArgumentProblemsError(ValueError):
    """Arguments that a tool does not accept: each problem as a phrase, and what it accepts instead."""

    def __init__(self, tool: str, problems: Sequence[str], expected: str) -> None:
        super().__init__(tool, *problems)
        self.tool = tool
        self.problems = tuple(problems)
        self.expected = expected

    def __str__(self) -> str:
        problems = "\n".join(f"- {problem}" for problem in self.problems)
        return f"The arguments of {self.tool} do not fit:\n{problems}\nExpected:\n{self.expected}"


def explain(error: ValidationError, *, tool: str, model: type[ToolArguments]) -> ArgumentProblemsError:
    """Word a failed validation of `model`, which says what the tool `tool` takes."""
    problems = [_phrase(detail, model) for detail in error.errors(include_url=False)]
    return ArgumentProblemsError(tool, problems, model.to_schema_markdown())


def _phrase(detail: ErrorDetails, model: type[ToolArguments]) -> str:
    where = ".".join(map(str, detail["loc"])) or "arguments"
    kind = detail["type"]
    if kind == "missing":
        return f"{where}: missing"
    if kind == "extra_forbidden":
        return f"{where}: there is no such argument"
    if kind.endswith(("_type", "_parsing")) and len(detail["loc"]) == 1:
        return f"{where}: expected {_expected(where, model)}, got {_json_name(detail['input'])}"
    return f"{where}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _expected(argument: str, model: type[ToolArguments]) -> str:
    schema = model.model_json_schema()
    return describe_type(schema["properties"].get(argument, {}), schema.get("$defs", {}))


def _json_name(value: object) -> str:
    return _JSON_NAMES.get(type(value), type(value).__name__)
