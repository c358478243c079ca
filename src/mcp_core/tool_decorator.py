"""Registration of tools with any MCP server: final names, a flat input schema, and what happens around a call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from mcp_core.redaction import Redactor
from mcp_core.registered_tool import RegisteredTool
from mcp_core.server_library import ServerLibrary
from mcp_core.tool_arguments import ToolArguments, ToolFunction, find_form

Function = TypeVar("Function", bound=ToolFunction)

PREFIX_VARIABLE = "MCP_TOOL_PREFIX"


class ToolServer(Protocol):
    """A server that takes tools; the official SDK's MCPServer and FastMCP both do."""

    def tool(self, *, name: str, description: str) -> Callable[[ToolFunction], object]: ...


class ExtMcpToolDecorator:
    """Puts tool functions into one server.

    The server sees a function whose parameters are the fields of the model, so that its clients see them as the
    arguments of the tool. With a `library`, wrong arguments and failed results are answered in the library's own type,
    marked as errors, and a tool that needs consent asks the person. Without one, a Result is answered as JSON text,
    wrong arguments are raised, and nobody can be asked.

    `models` has the arguments of each registered tool by its final name, `names` that name by the function's own.
    `redactor` masks secrets in log lines.
    """

    def __init__(
        self,
        server: ToolServer,
        prefix: str | None = None,
        *,
        library: ServerLibrary | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._server = server
        self._prefix = prefix
        self._library = library
        self._redactor = redactor or Redactor()
        self.models: dict[str, type[ToolArguments]] = {}
        self.names: dict[str, str] = {}

    def tool(
        self, *, description: str, name: str | None = None, prefix: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a function under `prefix_name`; an empty prefix leaves the name alone.

        The prefix is this call's, else the decorator's, else what MCP_TOOL_PREFIX holds now.
        """

        def register(function: Function) -> Function:
            final = self._final_name(name or function.__name__, prefix)
            self.names[function.__name__] = final
            tool = RegisteredTool(final, function, library=self._library, redactor=self._redactor, names=self.names)
            self._server.tool(name=final, description=description)(tool.build_wrapper())
            self.models[final] = find_form(function).model
            return function

        return register

    def _final_name(self, name: str, prefix: str | None) -> str:
        for candidate in (prefix, self._prefix, os.environ.get(PREFIX_VARIABLE)):
            if candidate is not None:
                return f"{candidate}_{name}" if candidate else name
        return name
