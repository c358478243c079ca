"""The MCP server of a Z-Wave network: its tools, and its life over stdin and stdout."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from mcp_core import ExtMcpToolDecorator, ToolArguments
from mcp_official import OfficialLibrary
from zwave_mcp.house import House
from zwave_mcp.stdio import open_streams
from zwave_mcp.tools import tool_control, tool_devices, tool_lock

INSTRUCTIONS = (
    "A house with Z-Wave devices. Call devices to see what there is; name a device as people do. A command succeeds"
    " only when the device itself reports the new state: where it fails, say so and do not report it as done."
)
_NOT_OFFERED = ("prompts", "resources")


class ZwaveServer(MCPServer[House]):
    """The SDK's server with the tools of a house. `argument_models` has what each tool takes, by its final name."""

    def __init__(self, house: House) -> None:
        @asynccontextmanager
        async def lifespan(_: MCPServer[House]) -> AsyncIterator[House]:
            yield house

        super().__init__(
            "zwave",
            version=version("onetool"),
            instructions=INSTRUCTIONS,
            lifespan=lifespan,
            subscriptions=False,
            middleware=[_offer_tools_only],
        )
        self.argument_models = self._register_tools()

    def _register_tools(self) -> Mapping[str, type[ToolArguments]]:
        tools = ExtMcpToolDecorator(self, library=OfficialLibrary())
        for module in (tool_devices, tool_control, tool_lock):
            ToolArguments.redeclare(module)
        for function in ToolArguments.get_declared_tools(package="zwave_mcp.tools").values():
            tools.tool(description=ToolArguments.build_tool_description(function))(function)
        return tools.models

    async def serve_stdio(self, *, source: int, sink: int) -> None:
        """Serve one client at these descriptors until it closes its side."""
        # MCPServer has no public way to be run on streams of one's own.
        server = self._lowlevel_server
        async with open_streams(source, sink) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


async def _offer_tools_only(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Take back what MCPServer offers by itself: there are no prompts and no resources here."""
    if ctx.method.partition("/")[0] in _NOT_OFFERED:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    result = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
        for capability in _NOT_OFFERED:
            result["capabilities"].pop(capability, None)
    return result
