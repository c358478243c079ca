"""The arguments of a tool as a model, and the collection of the tools that are declared with one."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_core.argument_problems import explain
from mcp_core.schema_text import describe_limits, describe_type

ToolFunction = Callable[..., Any]
Function = TypeVar("Function", bound=ToolFunction)


class ToolArguments(BaseModel):
    """Base of every tool's arguments: one field is one argument, and nothing else is accepted.

    `declare` collects tool functions while their modules are imported; a server takes them with
    `get_declared_tools` and registers each with the description that `build_tool_description` gives.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    # Modules may be imported by several threads at once; every access below holds the lock.
    _lock: ClassVar[Lock] = Lock()
    _declared: ClassVar[dict[str, ToolFunction]] = {}
    _known: ClassVar[dict[str, dict[str, ToolFunction]]] = {}

    @staticmethod
    def declare(function: Function) -> Function:
        """Collect a tool function and give it back as it is; `find_arguments` says what form it must have."""
        find_arguments(function)
        with ToolArguments._lock:
            ToolArguments._declared[function.__name__] = function
            ToolArguments._known.setdefault(function.__module__, {})[function.__name__] = function
        return function

    @staticmethod
    def redeclare(module: ModuleType) -> None:
        """Collect the tools of an imported module again, so that a second server in the process finds them."""
        with ToolArguments._lock:
            ToolArguments._declared.update(ToolArguments._known.get(module.__name__, {}))

    @staticmethod
    def get_declared_tools(*, package: str | None = None) -> dict[str, ToolFunction]:
        """Take the tools declared since the last call, by name; with `package`, only those of its modules."""
        with ToolArguments._lock:
            taken = {
                name: function
                for name, function in ToolArguments._declared.items()
                if package is None or f"{function.__module__}.".startswith(f"{package}.")
            }
            for name in taken:
                del ToolArguments._declared[name]
        return taken

    @staticmethod
    def build_tool_description(function: ToolFunction) -> str:
        """Join the function's docstring and the list of its arguments."""
        model, _ = find_arguments(function)
        parts = (inspect.getdoc(function) or "", model.to_schema_markdown())
        return "\n\n".join(part for part in parts if part)

    @classmethod
    def to_schema_markdown(cls) -> str:
        """List the arguments, one a line, as `name` (type, required): description."""
        schema = cls.model_json_schema()
        required = schema.get("required", [])
        definitions = schema.get("$defs", {})
        return "\n".join(
            _describe_argument(name, field, definitions, required=name in required)
            for name, field in schema.get("properties", {}).items()
        )

    @classmethod
    def parse(cls, arguments: Mapping[str, Any], *, tool: str) -> Self:
        """Validate what a caller sent; raises ArgumentProblemsError with everything that is wrong."""
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            raise explain(error, tool=tool, model=cls) from None


def find_arguments(function: ToolFunction) -> tuple[type[ToolArguments], inspect.Parameter | None]:
    """Find the model that a tool function takes first, and the parameter for the server's context, if it has one.

    Raises TypeError for any other form than `tool(args: Model)` and `tool(args: Model, ctx: Context)`.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    model = hints.get(parameters[0].name) if parameters else None
    if not (inspect.isclass(model) and issubclass(model, ToolArguments)) or len(parameters) > 2:
        raise TypeError(f"{function.__qualname__} must take one ToolArguments model, and at most a context after it")
    if len(parameters) == 1:
        return model, None
    context = parameters[1]
    if context.name not in hints:
        raise TypeError(f"{function.__qualname__}: annotate {context.name} with the server's context type")
    return model, context.replace(annotation=hints[context.name])


def _describe_argument(name: str, field: Mapping[str, Any], definitions: Mapping[str, Any], *, required: bool) -> str:
    notes = [describe_type(field, definitions), "required" if required else "optional"]
    if limits := describe_limits(field):
        notes.append(limits)
    if field.get("default") is not None:
        notes.append(f"default {field['default']!r}")
    description = field.get("description")
    return f"- `{name}` ({', '.join(notes)})" + (f": {description}" if description else "")
