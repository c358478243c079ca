"""The shell of our MCP servers: the SDK's server with declared tools, which claims no more than it has."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from types import ModuleType
from typing import Literal, TypeVar

import anyio
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.server.runner import serve_one
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundModernRoute, x_mcp_header_map
from mcp.shared.transport_context import TransportContext
from mcp_types import METHOD_NOT_FOUND

from mcp_core import ExtMcpToolDecorator, ToolArguments, with_final_names
from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from mcp_core.line_pipes import LinePipes
from mcp_official.questions import OfficialLibrary
from mcp_official.stdio import MessageReader, MessageWriter

State = TypeVar("State")
_OPTIONAL = frozenset({"prompts", "resources"})  # MCPServer offers these of its own accord
_LISTED = _OPTIONAL | {"tools"}


class DeclaredToolsServer(MCPServer[State]):
    """The SDK's server with the tools that `modules` of one package declare.

    `open_state` gives what the tools find as their lifespan context. `offers` names what there is beside tools, and
    `without` tools that are left out. `prefix` comes before the tools' names, by default what MCP_TOOL_PREFIX holds;
    `instructions` write a tool in backticks, without it. `states` seals what clients send back; without it, only this
    process can read that. `extensions` are for clients without a session. `argument_models` has what each tool takes,
    by its final name.
    """

    def __init__(  # noqa: PLR0913 - each of our servers does without some of it
        self,
        name: str,
        *,
        instructions: str,
        open_state: Callable[[], AbstractAsyncContextManager[State]],
        modules: Sequence[ModuleType],
        offers: Collection[str] = (),
        subscriptions: SubscriptionBus | Literal[False] = False,
        middleware: Sequence[ServerMiddleware[State]] = (),
        prefix: str | None = None,
        without: Collection[str] = (),
        states: RequestStateSecurity | None = None,
        extensions: Sequence[Extension] = (),
    ) -> None:
        @asynccontextmanager
        async def lifespan(_: MCPServer[State]) -> AsyncIterator[State]:
            async with open_state() as self._state:
                yield self._state

        super().__init__(
            name,
            version=VERSION,
            instructions=instructions,
            lifespan=lifespan,
            subscriptions=subscriptions,
            request_state_security=states,
            extensions=extensions,
            middleware=[_correct(offers, changing=subscriptions is not False), *middleware],
        )
        tools = ExtMcpToolDecorator(self, prefix, library=OfficialLibrary())
        for module in modules:
            ToolArguments.redeclare(module)
        for declared, function in ToolArguments.get_declared_tools(package=modules[0].__package__).items():
            if declared in without:
                continue
            tools.tool(description=ToolArguments.build_tool_description(function))(function)
        self.argument_models = tools.models
        self._lowlevel_server.instructions = with_final_names(instructions, tools.names)

    async def serve(self, reader: MessageReader, writer: MessageWriter) -> None:
        """Serve one client, in the protocol era it opens with, until it closes its side."""
        # MCPServer has no public way to be run on streams of one's own.
        server = self._lowlevel_server
        await server.run(reader, writer, server.create_initialization_options())

    async def answer(
        self,
        context: DispatchContext[TransportContext],
        route: InboundModernRoute,
        method: str,
        params: JsonObject | None,
    ) -> JsonObject:
        """Answer one request without a session; it raises what `modern_error_data` has words for."""
        client = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        server, state = self._lowlevel_server, self._state
        return await serve_one(server, context, method, params, connection=client, lifespan_state=state)

    @cached_property
    def mirroring(self) -> frozenset[str]:
        """The tools some of whose arguments clients repeat in headers, which must then agree."""
        schema_of = self._lowlevel_server.get_tool_input_schema
        assert schema_of is not None
        return frozenset(name for name in self.argument_models if x_mcp_header_map(schema_of(name)))

    async def serve_stdio(self, *, source: int, sink: int) -> int | None:
        """Serve the client at these descriptors until it leaves or a signal comes, which is returned; cancels calls."""
        signalled = None
        reader = MessageReader()
        pipes = LinePipes(source, sink, reader.give, reader.end)

        async def stop_on_signal() -> None:
            nonlocal signalled
            signalled = await wait_for_signal()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal)
            await self.serve(reader, reader.connect(pipes))
            tasks.cancel_scope.cancel()
        await pipes.close()
        return signalled


async def wait_for_signal() -> int:
    """Wait until this process is asked to end, and return by which signal; a second one then ends it at once."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        return await anext(aiter(signals))


def _correct(offers: Collection[str], *, changing: bool) -> ServerMiddleware[object]:
    """Build the middleware that takes back what MCPServer offers and the server does not have."""
    features = _OPTIONAL.difference(offers)

    # It claims that lists change where they are `changing`: MCPServer has no way to say so in a handshake.
    async def correct(ctx: ServerRequestContext[object], call_next: CallNext) -> HandlerResult:
        if ctx.method.partition("/")[0] in features:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
        result = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            capabilities = {name: each for name, each in result["capabilities"].items() if name not in features}
            if changing:
                capabilities |= {
                    name: {**capabilities[name], "listChanged": True} for name in _LISTED & {*capabilities}
                }
                if "resources" in capabilities:
                    capabilities["resources"]["subscribe"] = "subscriptions" in offers
            if ctx.method == "initialize":  # extensions are of the era without sessions
                capabilities.pop("extensions", None)
            result["capabilities"] = capabilities
        return result

    return correct
