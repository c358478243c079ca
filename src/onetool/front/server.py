"""The MCP server of `run` on the SDK, what the front does not answer itself; and how long its requests take."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import mcp_types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from opentelemetry.context import attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import ValidationError

from mcp_core.json_types import JsonObject
from mcp_official import DeclaredToolsServer
from onetool.front import tool_run
from onetool.front.commands import Clients, Commands
from onetool.front.contents import ContentRequests
from onetool.front.definition import (
    HINTS,
    LOOK,
    NAME,
    SHOWN,
    TITLES,
    define_view,
    final_names,
    instruct,
    view_name,
    with_offer,
    with_views,
)
from onetool.front.late_app import ServedApps
from onetool.front.messages import LISTS
from onetool.front.offer import Offer
from onetool.front.rendering import FRESH
from onetool.front.task_extension import Tasks
from onetool.front.tool_run import LogLevels, ServerState
from onetool.front.view import call_view, shows_views
from onetool.front.watching import Listener, Watching
from onetool.people.person_of import person_of
from onetool.replicas.draining import Draining
from ot.clients.caller import ClientMemory
from ot.clients.front import Abilities
from ot.clients.person import LOCAL_PERSON, Person
from ot.run.waiting_runs import WaitingRuns
from ot.telemetry.meters import OTHER
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from onetool.replicas.replicas import Replicas
    from ot.run.runs import Runs

TRACE = "traceparent"
"""The header that names the trace of a request."""

_PROPAGATOR = TraceContextTextMapPropagator()


def watching_operations(telemetry: Telemetry) -> ServerMiddleware[object]:
    """Build the first middleware, which continues the trace of a header; one in `_meta` counts first, for the SDK."""

    async def watch(ctx: ServerRequestContext[object], call_next: CallNext) -> HandlerResult:
        headers: object = getattr(ctx.request, "headers", None)
        traced = isinstance(headers, Mapping) and TRACE in headers
        token = attach(_PROPAGATOR.extract(headers)) if traced else None
        try:
            with timed_operation(telemetry, ctx.method) as operation:
                result = await call_next(ctx)
                operation.failed = isinstance(result, dict) and result.get("isError") is True
                return result
        finally:
            if token is not None:
                detach(token)

    return watch


class Operation:
    """A request that is being answered; whoever answers it says whether its tool has `failed`."""

    failed = False


@contextmanager
def timed_operation(telemetry: Telemetry, method: str) -> Iterator[Operation]:
    """Count how long a request takes, and what went wrong."""
    operation, began, failure = Operation(), time.perf_counter(), ""
    try:
        yield operation
        failure = "tool_error" if operation.failed else ""
    except BaseException as error:
        failure = str(error.error.code) if isinstance(error, MCPError) else type(error).__name__
        raise
    finally:
        if telemetry.meters is not None:
            method = OTHER if failure == str(mcp_types.METHOD_NOT_FOUND) else method
            telemetry.meters.operations.record(time.perf_counter() - began, (method, failure))


State = TypeVar("State")

_CONCERNED = frozenset({"tools/list", *LISTS, "subscriptions/listen"})
_TELLING: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_ASKING: ContextVar[Person] = ContextVar("onetool_asking", default=LOCAL_PERSON)
"""Who lists tools, or listens for changes: the SDK tells neither of them whose request it is."""


_SHOWING: ContextVar[bool] = ContextVar("onetool_showing", default=False)
"""True while tools are listed for a client that shows views."""

_HEARING: ContextVar[list[Listener]] = ContextVar("onetool_hearing")
"""Those who hear of updates of resources by the request that listens for them."""


class OneToolServer(DeclaredToolsServer[ServerState]):
    """The tool `run`, and the log level that a client asks for; `apps` must stay open as long as it serves.

    `first_client` is the memory of the first client, where that has run something before this came to be.
    """

    def __init__(
        self,
        apps: ServedApps,
        offer: Offer,
        telemetry: Telemetry | None = None,
        *,
        replicas: Replicas | None = None,
        draining: Draining | None = None,
        first_client: ClientMemory | None = None,
    ) -> None:
        log_levels = LogLevels()
        self.commands = Commands(
            apps,
            Clients(None if replicas is None else replicas.store, first=first_client),
            draining or Draining(),
            WaitingRuns("" if replicas is None else replicas.store.this.id),
            None if replicas is None else replicas.answers,
        )

        def runs_with(principal: str, run: str) -> Runs | None:
            """Find the runs of a principal among which this one goes on."""
            found = (app.runs for owner, app in apps.all_open() if owner == principal)
            return next((runs for runs in found if runs.has(run)), None)

        if replicas is not None:
            replicas.serve(self.commands.waiting, self.commands.clients.save, runs_with)

        self._watching = Watching(self, offer, self.commands)

        @asynccontextmanager
        async def open_state() -> AsyncIterator[ServerState]:
            yield ServerState(self.commands, log_levels)  # apps are opened and closed by whoever serves them

        super().__init__(
            NAME,
            instructions=instruct(apps.mistakes, look=apps.look),
            open_state=open_state,
            modules=[tool_run],
            without=() if apps.look else (LOOK,),
            offers=("prompts", "resources", "subscriptions"),
            middleware=[_noting_clients(apps), _noting_listeners(offer, self._watching)],
            subscriptions=_Subscriptions(offer),
            states=None if replicas is None else replicas.states,
            extensions=[Tasks(self.commands)],
        )
        self._offer = offer
        ContentRequests(self, offer, self.commands).register()
        self._watching.register()
        self._tools = final_names(look=apps.look)
        self._lowlevel_server.cache_hints = dict.fromkeys(("tools/list", "server/discover"), CacheHint(FRESH))
        self._lowlevel_server.middleware.insert(0, _naming_views)
        self._lowlevel_server.middleware.insert(0, watching_operations(telemetry or Telemetry()))
        self._lowlevel_server.add_request_handler(
            "logging/setLevel", mcp_types.SetLevelRequestParams, log_levels.set_level
        )

    async def list_tools(self) -> list[mcp_types.Tool]:
        """List our tools, with what they offer at this moment."""
        offer = await self._offer.describe(_ASKING.get())
        tools = [_complete(tool, self._tools[tool.name], offer) for tool in await super().list_tools()]
        if not _SHOWING.get():
            return tools
        shown = [tool.model_copy(update={"meta": SHOWN}) for tool in tools]
        return [*shown, mcp_types.Tool.model_validate(define_view())]

    async def call_tool(
        self, name: str, arguments: JsonObject, context: Context[ServerState] | None = None
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Answer an unknown name as the protocol asks, which the SDK does not, and what views ask for."""
        if name == view_name() and context is not None and shows_views(context):
            return await call_view(arguments, context)
        if name not in self.argument_models:
            known = ", ".join(self.argument_models)
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {name}. This server has: {known}")
        return await super().call_tool(name, arguments, context)


def _complete(tool: mcp_types.Tool, which: str, offer: str) -> mcp_types.Tool:
    hints = mcp_types.ToolAnnotations.model_validate(HINTS[which])
    description = with_offer(which, tool.description or "", offer)
    return tool.model_copy(update={"title": TITLES[which], "annotations": hints, "description": description})


class _Subscriptions:
    """Lets those who listen without a session hear of their own changes."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        async def tell(name: str) -> None:
            listener(_TELLING[name])

        _HEARING.get().append(listener)
        return self._offer.watch(_ASKING.get(), tell)

    async def publish(self, event: ServerEvent) -> None:
        """Do nothing: the offer itself tells of changes."""


async def _naming_views(ctx: ServerRequestContext[ServerState], call_next: CallNext) -> HandlerResult:
    """Tell a client that shows views that we have some."""
    result = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
        said = (ctx.params or {}).get("capabilities") if ctx.method == "initialize" else None
        said = said or (ctx.meta or {}).get(mcp_types.CLIENT_CAPABILITIES_META_KEY)
        if isinstance(said, Mapping) and Abilities.read(said).can_show:
            result["capabilities"] = with_views(result["capabilities"])
    return result


def _noting_clients(apps: ServedApps) -> ServerMiddleware[State]:
    """Build the middleware that notes what each client says of itself as it comes, before any server is connected."""

    async def note(ctx: ServerRequestContext[State], call_next: CallNext) -> HandlerResult:
        said = (ctx.params or {}).get("capabilities") if ctx.method == "initialize" else None
        if ctx.method == "server/discover":
            said = (ctx.meta or {}).get(mcp_types.CLIENT_CAPABILITIES_META_KEY)
        with suppress(ValidationError):
            if said:
                claimed = mcp_types.ClientCapabilities.model_validate(said).model_dump(by_alias=True, exclude_none=True)
                apps.clients_of(person_of(ctx)).note(Abilities.read(claimed))
        return await call_next(ctx)

    return note


def _noting_listeners(offer: Offer, watching: Watching) -> ServerMiddleware[ServerState]:
    """Build the middleware that remembers who asks, who has listed something, and what they want to hear of."""

    async def note(ctx: ServerRequestContext[ServerState], call_next: CallNext) -> HandlerResult:
        if ctx.method not in _CONCERNED:
            return await call_next(ctx)
        person = person_of(ctx)
        if ctx.method != "subscriptions/listen" and (client := ctx.session.client_params) is not None:
            offer.watch(person, _telling(ctx.session), key=_Identity(client))
        token, showing = _ASKING.set(person), _SHOWING.set(shows_views(ctx))
        try:
            if ctx.method != "subscriptions/listen":
                return await call_next(ctx)
            async with watching.listening(ctx) as listeners:
                _HEARING.set(listeners)
                return await call_next(ctx)
        finally:
            _SHOWING.reset(showing)
            _ASKING.reset(token)

    return note


def _telling(session: ServerSession) -> Callable[[str], Awaitable[None]]:
    async def tell(name: str) -> None:
        told = {"tools": session.send_tool_list_changed, "prompts": session.send_prompt_list_changed}
        await told.get(name, session.send_resource_list_changed)()

    return tell


class _Identity:
    """Stands for one object, which cannot be hashed, and keeps it, so that its id stays its own."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __hash__(self) -> int:
        return id(self._thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._thing is other._thing
