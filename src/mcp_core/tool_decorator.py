"""Registration of tools with any MCP server: final names, a flat input schema, a log line before and after a call."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field
from pydantic.fields import FieldInfo

from mcp_core.mcp_log import TRACE, tool_log
from mcp_core.tool_arguments import ToolArguments, ToolFunction, find_arguments

Function = TypeVar("Function", bound=ToolFunction)

PREFIX_VARIABLE = "MCP_TOOL_PREFIX"


class ToolServer(Protocol):
    """What a server must offer: the official SDK's MCPServer and FastMCP both do."""

    def tool(self, *, name: str, description: str) -> Callable[[ToolFunction], Any]: ...


class ExtMcpToolDecorator:
    """Puts tool functions into one server.

    The server sees a function whose parameters are the fields of the model, so that its clients see them as the
    arguments of the tool. `models` has the arguments of each registered tool by its final name.
    """

    def __init__(self, server: ToolServer, prefix: str | None = None) -> None:
        self._server = server
        self._prefix = prefix
        self.models: dict[str, type[ToolArguments]] = {}

    def tool(
        self, *, description: str, name: str | None = None, prefix: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a function under `prefix_name`; an empty prefix leaves the name alone.

        The prefix is this call's, else the decorator's, else what MCP_TOOL_PREFIX holds now.
        """

        def register(function: Function) -> Function:
            final = self._final_name(name or function.__name__, prefix)
            model, context = find_arguments(function)
            self._server.tool(name=final, description=description)(_flatten(function, final, model, context))
            self.models[final] = model
            return function

        return register

    def _final_name(self, name: str, prefix: str | None) -> str:
        for candidate in (prefix, self._prefix, os.environ.get(PREFIX_VARIABLE)):
            if candidate is not None:
                return f"{candidate}_{name}" if candidate else name
        return name


def _flatten(
    function: ToolFunction, name: str, model: type[ToolArguments], context: inspect.Parameter | None
) -> ToolFunction:
    """Wrap a tool so that it takes the model's fields, and the context under its own name."""

    def bind(values: dict[str, Any]) -> tuple[Any, ...]:
        extra = () if context is None else (values.pop(context.name),)
        return (model.parse(values, tool=name), *extra)

    if inspect.iscoroutinefunction(function):

        async def call_async(**values: Any) -> Any:
            with _logged(name, success_level=TRACE):
                return await function(*bind(values))

        return _present(call_async, function, model, context)

    def call(**values: Any) -> Any:
        with _logged(name, success_level=logging.DEBUG):
            return function(*bind(values))

    return _present(call, function, model, context)


@contextmanager
def _logged(name: str, *, success_level: int) -> Iterator[None]:
    tool_log.log(TRACE, "Tool called: %s", name)
    try:
        yield
    except Exception as error:
        tool_log.error("Tool %s failed: %s", name, error)
        raise
    tool_log.log(success_level, "Tool %s completed successfully", name)


def _present(
    wrapper: ToolFunction, function: ToolFunction, model: type[ToolArguments], context: inspect.Parameter | None
) -> ToolFunction:
    """Give the wrapper the face that servers look at: name, docstring, signature and annotations."""
    parameters = [_parameter(name, field) for name, field in model.model_fields.items()]
    if context is not None:
        parameters.append(context.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    returns = inspect.signature(function, eval_str=True).return_annotation
    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__module__, wrapper.__doc__ = function.__module__, function.__doc__
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
    wrapper.__dict__["__signature__"] = inspect.Signature(parameters, return_annotation=returns)
    return wrapper


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    parts = field.asdict()
    annotation, metadata = parts["annotation"], parts["metadata"]
    # A signature carries defaults beside the annotation, and pydantic accepts only one of the two.
    facts = {key: value for key, value in parts["attributes"].items() if key not in ("default", "default_factory")}
    return inspect.Parameter(
        field.alias or name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True),
        annotation=Annotated[(annotation, *metadata, Field(**facts))],
    )
