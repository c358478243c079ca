"""Updates of resources, for clients that subscribe to them in the way of either era."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

from mcp_core.json_types import list_of, mapping_of
from mcp_core.quick_dataclass import replace
from onetool.front.commands import Client, Commands
from onetool.front.offer import Offer
from onetool.front.tool_run import ServerState, follow
from ot.clients.front import Front
from ot.run.answer import Answer
from ot.run.uses import UseFailure, read_use, watch_resource
from ot.run.waiting_runs import Waiting

Asked: TypeAlias = ServerRequestContext[ServerState]
Listener: TypeAlias = Callable[[ServerEvent], None]
_MOST = 1_000  # resources of which one client hears
_KEY = "onetool.watched"


class Watching:
    """Subscribes clients to what they name, each time through the door, and ends that when they leave."""

    def __init__(self, server: MCPServer[ServerState], offer: Offer, commands: Commands) -> None:
        self._server = server
        self._offer = offer
        self._commands = commands

    def register(self) -> None:
        """Have the SDK's server answer the requests of clients with a session here."""
        add = self._server._lowlevel_server.add_request_handler  # noqa: SLF001 - MCPServer has no public way
        add("resources/subscribe", mcp_types.SubscribeRequestParams, self._subscribe)
        add("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, self._unsubscribe)

    async def _subscribe(self, ctx: Asked, params: mcp_types.SubscribeRequestParams) -> dict[str, Any]:
        session, uri, watched = ctx.session, params.uri, _watched_by(ctx)
        if uri in watched:
            return {}
        if len(watched) >= _MOST:
            raise MCPError(mcp_types.INVALID_PARAMS, f"A client can subscribe to {_MOST:,} resources")

        async def send() -> None:
            await session.send_resource_updated(uri)

        end = await self._watch(ctx, uri, lambda: self._offer.tell_soon((id(watched), uri), send))
        watched[uri] = end
        session._connection.exit_stack.callback(end)  # noqa: SLF001 - the SDK has no public way to hear of the end
        return {}

    async def _unsubscribe(self, ctx: Asked, params: mcp_types.UnsubscribeRequestParams) -> dict[str, Any]:
        end = _watched_by(ctx).pop(params.uri, None)
        if end is not None:
            end()
        return {}

    @asynccontextmanager
    async def listening(self, ctx: Asked) -> AsyncIterator[list[Listener]]:
        """Let those who are put into the list hear of the resources that a client without a session wants to listen to.

        One that it may not have, or that nobody lists, never changes for it.
        """
        wanted = list_of(mapping_of((ctx.params or {}).get("notifications")).get("resourceSubscriptions"))
        listeners: list[Listener] = []
        ends: list[Callable[[], None]] = []

        def telling(uri: str) -> Callable[[], None]:
            def tell() -> None:
                for listener in listeners:
                    listener(ResourceUpdated(uri=uri))

            return tell

        try:
            for uri in dict.fromkeys(each for each in wanted[:_MOST] if isinstance(each, str)):
                with suppress(MCPError):
                    ends.append(await self._watch(ctx, uri, telling(uri)))
            yield listeners
        finally:
            for end in ends:
                end()

    async def _watch(self, ctx: Asked, uri: str, tell: Callable[[], None]) -> Callable[[], None]:
        """Take a subscription through the door, and return what ends it; raises MCPError."""
        ends: list[Callable[[], None]] = []
        use = watch_resource(uri, tell, ends)

        async def begin(client: Client) -> Answer | Waiting:
            if client.questions is not None:  # no answer to this request could be a question
                client = replace(client, questions=None, front=Front(object(), sessionless=True))
            return await self._commands.use(use, client)

        context = Context(request_context=ctx, mcp_server=self._server)
        outcome = await follow(context, begin)
        assert isinstance(outcome, Answer), "a client that cannot be asked is asked nothing"
        found = read_use(outcome)
        if isinstance(found, UseFailure):
            raise MCPError(mcp_types.INVALID_PARAMS, found.message)
        return ends[0]


def _watched_by(ctx: Asked) -> dict[str, Callable[[], None]]:
    """Return what the client of a session is subscribed to, by address, each with what ends that."""
    state = ctx.session._connection.state  # noqa: SLF001 - as above
    watched: dict[str, Callable[[], None]] = state.setdefault(_KEY, {})
    return watched
