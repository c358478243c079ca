"""The MCP server of `run`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcp.server.mcpserver import Context
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundModernRoute
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    INVALID_PARAMS,
    SERVER_INFO_META_KEY,
    CallToolResult,
    InputRequiredResult,
    SetLevelRequestParams,
    Tool,
)

from mcp_core import ToolArguments
from mcp_core.json_types import JsonObject
from mcp_official import DeclaredToolsServer
from onetool.front import tool_run
from onetool.front.client_front import LogLevels, noting_clients
from onetool.front.clients import Clients
from onetool.front.direct_runs import DirectRuns
from onetool.front.late_app import ServedApps
from onetool.front.offer import Offer, open_offer
from onetool.front.operations import timed_operation, watching_operations
from onetool.front.plain_runs import read_plain_run
from onetool.front.suspended_runs import open_suspended_runs
from onetool.front.tool_run import ServerState
from onetool.replicas.draining import Draining
from ot.config.entries import Mistake
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:  # only those who have a database know of others
    from onetool.replicas.replicas import Replicas
    from ot.run.runs import Runs

INSTRUCTIONS = "One tool, `run`, reaches every tool of this person from Python. Start with `ot.help()`."


_MOST_NAMES = 10  # of what is off
_LONGEST_NAME = 60


class OneToolServer(DeclaredToolsServer[ServerState]):
    """The tool `run`, and the log level that a client asks for; `apps` must stay open as long as it serves."""

    def __init__(
        self,
        apps: ServedApps,
        telemetry: Telemetry | None = None,
        *,
        replicas: Replicas | None = None,
        draining: Draining | None = None,
        direct: DirectRuns | None = None,
    ) -> None:
        log_levels, offer = LogLevels(), Offer(apps)
        first = None if direct is None else direct.memory
        clients = Clients(replicas.store if replicas is not None else None, first=first)

        @asynccontextmanager
        async def open_service() -> AsyncIterator[ServerState]:
            name = "" if replicas is None else replicas.id
            async with open_suspended_runs(replica=name) as suspended, open_offer(offer):
                service = ServerState(apps, suspended, log_levels, clients, draining or Draining(), direct=direct)
                if replicas is None:
                    yield service  # apps are opened and closed by whoever serves them
                    return
                replicas.serve_answers(suspended, tool_run.render, clients.save)
                replicas.serve_detached(partial(_runs_with, apps))
                yield replace(service, elsewhere=replicas.answers)

        super().__init__(
            "onetool",
            instructions=_instruct(apps.mistakes),
            open_state=open_service,
            modules=[tool_run],
            middleware=[noting_clients(apps.clients_of), offer.note_client],
            subscriptions=offer,
            states=None if replicas is None else replicas.states,
        )
        self._offer = offer
        self._telemetry = telemetry or Telemetry()
        self._lowlevel_server.middleware.insert(0, watching_operations(self._telemetry))
        self._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, log_levels.set_level)

    async def answer(
        self,
        context: DispatchContext[TransportContext],
        route: InboundModernRoute,
        method: str,
        params: JsonObject | None,
    ) -> JsonObject:
        """Answer one request without a session; a plain run past the SDK, for which it is as much work as the run."""
        plain = None if self._telemetry.tracer is not None else read_plain_run(context, route, method, params)
        if plain is None:
            return await super().answer(context, route, method, params)
        with timed_operation(self._telemetry, method) as operation:
            answer = await tool_run.run_plainly(self._state, plain.command, plain.front, plain.person)
            operation.failed = answer.is_error
        result = tool_run.render_result(answer).model_dump(mode="json", by_alias=True, exclude_none=True)
        stamp = {SERVER_INFO_META_KEY: self._lowlevel_server.server_info_stamp}
        return {**result, "resultType": "complete", "_meta": stamp}

    async def list_tools(self) -> list[Tool]:
        """List `run`, with what it offers at this moment."""
        offer = await self._offer.describe()
        tools = await super().list_tools()
        return [tool.model_copy(update={"description": f"{tool.description}\n\n{offer}"}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: JsonObject, context: Context[ServerState] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer an unknown name as the protocol asks, which the SDK does not."""
        if name not in self.argument_models:
            known = ", ".join(self.argument_models)
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}. This server has: {known}")
        return await super().call_tool(name, arguments, context)


def _runs_with(apps: ServedApps, principal: str, run: str) -> Runs | None:
    """Find the runs of a principal among which this one goes on."""
    found = (app.runs for owner, app in apps.all_open() if owner == principal)
    return next((runs for runs in found if runs.has(run)), None)


def _instruct(mistakes: Sequence[Mistake]) -> str:
    off = list(dict.fromkeys(".".join(mistake.entry)[:_LONGEST_NAME] for mistake in mistakes))
    if not off:
        return INSTRUCTIONS
    more = f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else ""
    names = ", ".join(off[:_MOST_NAMES]) + more
    return f"{INSTRUCTIONS} Mistakes in the configuration keep this off, as ot.health() explains: {names}."


def own_definition() -> str:
    """Return what a client puts into its context for us: the instructions, and the definition of `run`."""
    tool = {
        "name": tool_run.run.__name__,
        "description": ToolArguments.build_tool_description(tool_run.run),
        "inputSchema": tool_run.RunArguments.model_json_schema(),
    }
    return f"{INSTRUCTIONS}\n{json.dumps(tool)}"
