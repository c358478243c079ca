"""The MCP server of a guide: its tools, its resources, and its life over stdin and stdout."""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from types import ModuleType
from typing import Any

import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, Resource

from mcp_core import ExtMcpToolDecorator, ToolArguments
from mcp_guide import resources
from mcp_guide.guide import Guide
from mcp_guide.stdio import open_streams
from mcp_guide.tools import tool_category, tool_collection, tool_document, tool_template
from mcp_official import OfficialLibrary

INSTRUCTIONS = (
    "Guidance of this project: rules, decisions, how things are done here. Before you begin a task, call list_documents"
    " with the words of the task as search, and read what fits with read_documents."
)
EXAMPLES_VARIABLE = "MCP_INCLUDE_EXAMPLE_TOOLS"


class GuideServer(MCPServer[Guide]):
    """The SDK's server with the tools of a guide, and its documents as resources, read from disk at each request.

    `argument_models` has what each tool takes, by its final name.
    """

    def __init__(self, guide: Guide) -> None:
        @asynccontextmanager
        async def lifespan(_: MCPServer[Guide]) -> AsyncIterator[Guide]:
            yield guide

        super().__init__(
            "guide",
            version=version("onetool"),
            instructions=INSTRUCTIONS,
            lifespan=lifespan,
            subscriptions=False,
            middleware=[_offer_no_prompts],
        )
        self._guide = guide
        self.argument_models = self._register_tools()
        self._register_resources()

    def _register_tools(self) -> Mapping[str, type[ToolArguments]]:
        tools = ExtMcpToolDecorator(self, library=OfficialLibrary())
        for module in _import_tool_modules():
            ToolArguments.redeclare(module)
        for function in ToolArguments.get_declared_tools(package="mcp_guide.tools").values():
            tools.tool(description=ToolArguments.build_tool_description(function))(function)
        return tools.models

    def _register_resources(self) -> None:
        guide = self._guide

        @self.resource(
            resources.ADDRESS, name="document", description="A document of the guide", mime_type=resources.MARKDOWN
        )
        def read(category: str, name: str) -> str:
            return resources.read_document(guide, category, name)

    async def list_resources(self) -> list[Resource]:
        """List the documents as they are now."""
        return await anyio.to_thread.run_sync(lambda: list(resources.list_documents(self._guide)))

    async def serve_stdio(self, *, source: int, sink: int) -> None:
        """Serve one client at these descriptors until it closes its side."""
        # MCPServer has no public way to be run on streams of one's own.
        server = self._lowlevel_server
        async with open_streams(source, sink) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


def _import_tool_modules() -> list[ModuleType]:
    """Importing a tool's module declares it; the example stays out, unimported, unless somebody asks for it."""
    modules = [tool_category, tool_document, tool_collection, tool_template]
    if os.environ.get(EXAMPLES_VARIABLE) == "true":
        modules.append(importlib.import_module("mcp_guide.tools.tool_example"))
    return modules


async def _offer_no_prompts(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Take back what MCPServer offers by itself: there are no prompts here."""
    if ctx.method.startswith("prompts/"):
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    result = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
        result["capabilities"].pop("prompts", None)
    return result
