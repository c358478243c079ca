"""The MCP server of `run`, and its life over stdin and stdout."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, CallToolResult, InputRequiredResult, SetLevelRequestParams

from mcp_core import ExtMcpToolDecorator, ToolArguments
from mcp_official import OfficialLibrary
from onetool.front import LogLevels
from onetool.late_app import LateApp
from onetool.stdio import MessageReader, MessageWriter
from onetool.suspended_runs import open_suspended_runs
from onetool.tools import tool_run
from onetool.tools.tool_run import Service

INSTRUCTIONS = "One tool, `run`, reaches every tool of this person from Python. Start with `ot.help()`."

_NOT_OFFERED = ("prompts", "resources")


class OneToolServer(MCPServer[Service]):
    """The SDK's server with our tools, which claims no more than it has."""

    def __init__(self, app: LateApp) -> None:
        log_levels = LogLevels()

        @asynccontextmanager
        async def lifespan(_: MCPServer[Service]) -> AsyncIterator[Service]:
            async with open_suspended_runs() as suspended:
                yield Service(app, suspended, log_levels)  # the app is opened and closed by whoever serves it

        super().__init__(
            "onetool",
            version=version("onetool"),
            instructions=INSTRUCTIONS,
            lifespan=lifespan,
            subscriptions=False,
            middleware=[_offer_only_tools],
        )
        self._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, log_levels.set_level)
        self._tools = ExtMcpToolDecorator(self, library=OfficialLibrary())
        ToolArguments.redeclare(tool_run)
        for function in ToolArguments.get_declared_tools(package="onetool.tools").values():
            self._tools.tool(description=ToolArguments.build_tool_description(function))(function)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Service, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer an unknown name as the protocol asks, which the SDK does not."""
        if name not in self._tools.models:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}. This server has: {', '.join(self._tools.models)}")
        return await super().call_tool(name, arguments, context)

    async def serve(self, reader: MessageReader, writer: MessageWriter) -> None:
        """Serve one client, in the protocol era it opens with, until it closes its side."""
        # MCPServer has no public way to be run on streams of one's own.
        server = self._lowlevel_server
        await server.run(reader, writer, server.create_initialization_options())


async def _offer_only_tools(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Take back what MCPServer offers by itself, prompts and resources: there are none here."""
    if ctx.method.partition("/")[0] in _NOT_OFFERED:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    result = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
        for name in _NOT_OFFERED:
            result["capabilities"].pop(name, None)
    return result


def own_definition() -> str:
    """What a client puts into its context for us: the instructions, and the definition of `run`."""
    tool = {
        "name": tool_run.run.__name__,
        "description": ToolArguments.build_tool_description(tool_run.run),
        "inputSchema": tool_run.RunArguments.model_json_schema(),
    }
    return f"{INSTRUCTIONS}\n{json.dumps(tool)}"


def build_server(app: LateApp) -> OneToolServer:
    """Build the server of `run`; `app` must stay open as long as it serves."""
    return OneToolServer(app)


async def serve_stdio(app: LateApp, *, source: int, sink: int) -> None:
    """Serve the client at these descriptors until it leaves or a signal asks this process to end.

    Runs that are still going are cancelled in both cases.
    """
    server = build_server(app)
    writer = MessageWriter(sink, on_first_sent=app.want)
    reader = MessageReader(source, writer)

    async def stop_on_signal() -> None:
        await wait_for_signal()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal)
        await server.serve(reader, writer)
        tasks.cancel_scope.cancel()


async def wait_for_signal() -> None:
    """Wait until this process is asked to end; once it was, a second signal ends it at once."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            return
