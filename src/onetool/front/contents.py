"""Prompts and resources of servers as the SDK asks for them: lists where the front does not answer, and every use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from mcp_core.json_types import JsonObject
from onetool.front.commands import Client, Commands
from onetool.front.definition import ANSWER_URI
from onetool.front.messages import LISTS
from onetool.front.offer import Offer, StaleCursorError
from onetool.front.rendering import STALE_CURSOR
from onetool.front.tool_run import ServerState, follow, input_required
from onetool.front.view import read_answer_page, shows_views
from onetool.people.person_of import person_of
from ot.run.answer import Answer
from ot.run.uses import Use, UseFailure, complete, get_prompt, read_resource, read_use
from ot.run.waiting_runs import Waiting

Params = TypeVar("Params")
Asked: TypeAlias = ServerRequestContext[ServerState]
Handler: TypeAlias = Callable[[Asked, Params], Awaitable[dict[str, Any]]]
Handled: TypeAlias = dict[str, Any] | mcp_types.InputRequiredResult
_COMPLETE = {"resultType": "complete"}  # which older revisions leave out
_UNKNOWN_RESOURCE = -32002  # of revisions with a session
_SESSIONLESS = "2026-07-28"


class ContentRequests:
    """Answers requests about what servers have beside tools."""

    def __init__(self, server: MCPServer[ServerState], offer: Offer, commands: Commands) -> None:
        self._server = server
        self._offer = offer
        self._commands = commands

    def register(self) -> None:
        """Have the SDK's server answer these requests here."""
        add = self._server._lowlevel_server.add_request_handler  # noqa: SLF001 - MCPServer has no public way
        for method in LISTS:
            add(method, mcp_types.PaginatedRequestParams, self._list(method))
        add("resources/read", mcp_types.ReadResourceRequestParams, self._read)
        add("prompts/get", mcp_types.GetPromptRequestParams, self._fill)
        add("completion/complete", mcp_types.CompleteRequestParams, self._complete)

    def _list(self, method: str) -> Handler[mcp_types.PaginatedRequestParams]:
        async def answer(ctx: Asked, params: mcp_types.PaginatedRequestParams) -> dict[str, Any]:
            try:
                listed, fresh = await self._offer.list(person_of(ctx), method, params.cursor or "")
            except StaleCursorError:
                raise MCPError(mcp_types.INVALID_PARAMS, STALE_CURSOR) from None
            return {**listed, **_COMPLETE, "ttlMs": fresh, "cacheScope": "private"}

        return answer

    async def _read(self, ctx: Asked, params: mcp_types.ReadResourceRequestParams) -> Handled:
        if params.uri == ANSWER_URI and shows_views(ctx):
            return {**read_answer_page(), **_COMPLETE}
        found = await self._use(read_resource(params.uri), ctx, params)
        # Others may not have what this person may read.
        return {"ttlMs": 0, **found, "cacheScope": "private"} if isinstance(found, dict) else found

    async def _fill(self, ctx: Asked, params: mcp_types.GetPromptRequestParams) -> Handled:
        return await self._use(get_prompt(params.name, {**(params.arguments or {})}), ctx, params)

    async def _complete(self, ctx: Asked, params: mcp_types.CompleteRequestParams) -> Handled:
        reference, argument = params.ref.model_dump(by_alias=True), params.argument.model_dump()
        given: JsonObject = {**((params.context and params.context.arguments) or {})}
        return await self._use(complete(reference, argument, given), ctx, None)

    async def _use(self, use: Use, ctx: Asked, params: mcp_types.InputResponseRequestParams | None) -> Handled:
        context = Context(request_context=ctx, mcp_server=self._server, input_params=params)

        async def begin(client: Client) -> Answer | Waiting:
            return await self._commands.use(use, client)

        outcome = await follow(context, begin)
        if isinstance(outcome, Waiting):
            return input_required(outcome)
        found = read_use(outcome)
        if isinstance(found, UseFailure):
            raise MCPError(_code_of(found, context), found.message)
        return {**found, **_COMPLETE}


def _code_of(failure: UseFailure, context: Context[ServerState]) -> int:
    if not failure.unknown:
        return mcp_types.INTERNAL_ERROR
    version = context.protocol_version
    reads = context.request_context.method == "resources/read"
    sessionless = version is not None and is_version_at_least(version, _SESSIONLESS)
    return _UNKNOWN_RESOURCE if reads and not sessionless else mcp_types.INVALID_PARAMS
