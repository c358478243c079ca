"""One connection to one server: connecting, listing, calling, and how it ended.

This module loads the SDK's client, so it is itself loaded only when the first server is connected.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.caching import MAX_TTL_MS
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from pydantic import ValidationError

from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from ot.clients.front import Claims
from ot.context import CallContext
from ot.errors import ToolError
from ot.logs import LogSpan, write_log
from ot.proxy.connections.contents import Contents
from ot.proxy.connections.fresh_results import fresh_results
from ot.proxy.connections.lists import Listing, Lists, first_mistake
from ot.proxy.connections.server_requests import ClaimingTransport, ServerRequests, word_missing
from ot.proxy.connections.server_tasks import ServerTasks, TaskBegun, TaskExtension, needs_task
from ot.proxy.definitions.pins import Offer
from ot.proxy.plan import ConnectionPlan
from ot.proxy.status import CallsInFlight, ConnectFailedError, LostError, TaskGoneError
from ot.proxy.task_states import ServerTask
from ot.proxy.transports.commands import build_command
from ot.proxy.transports.http import HttpTransport
from ot.proxy.transports.stdio import StdioTransport
from ot_sdk.failures import innermost, message_of

Answer = TypeVar("Answer")
Tell = Callable[["Connection"], Awaitable[None]]
_BETWEEN_REFRESHES = 0.5  # seconds; a server that never stops changing must not keep us busy
_LONGEST_VERSION = 200  # characters
_NOTICES = (
    (types.ToolListChangedNotification, "tools"),
    (types.PromptListChangedNotification, "prompts"),
    (types.ResourceListChangedNotification, "resources"),
)
_CHANGES = ((ToolsListChanged, "tools"), (PromptsListChanged, "prompts"), (ResourcesListChanged, "resources"))
_VERDICT = 5.0  # seconds that it may take to find out how a connection ended


class Connection:
    """A live connection, used by any number of calls; its owner is the task that runs `hold`."""

    def __init__(self, plan: ConnectionPlan, transport: HttpTransport | StdioTransport) -> None:
        self.offer = Offer()
        self.calls = CallsInFlight()
        self.closing = anyio.Event()  # no longer usable
        self.ended = anyio.Event()  # everything of it is closed
        self.listed = anyio.Event()  # what it has beside tools, as far as it could be; or was waited for long enough
        self.verdict = "was closed"
        self.describe_silence = transport.describe_silence  # says what is known if it was not ready in time
        self._plan = plan
        self._transport = transport
        self._changed = anyio.Event()
        self._stale: set[str] = set()  # lists that are to be read
        self._tools_until = math.inf  # how long that of tools is fresh, by the clock of the event loop
        self._claiming = ClaimingTransport(transport, plan.claims)
        requests = ServerRequests(plan.server, self.calls)
        self._client = Client(
            self._claiming,
            mode=plan.mode,
            cache=fresh_results(plan.place),
            client_info=types.Implementation(name="onetool", version=VERSION),
            sampling_callback=requests.sample,
            elicitation_callback=requests.elicit,
            list_roots_callback=requests.list_roots,
            logging_callback=requests.log,
            log_level="info",
            message_handler=self._on_message,
            extensions=[TaskExtension()],
        )
        self._tasks = ServerTasks(plan.server, self._send_raw, self._judge_now)
        self._only_tasks: frozenset[str] = frozenset()  # tools of a server of 2025
        self._lists = Lists(plan.server, self._client, self._send_raw)
        self.contents = Contents(plan.server, self._client, self._ask, self._lists)

    @property
    def usable(self) -> bool:
        """True while it takes calls."""
        return not self.closing.is_set()

    def claims_less_than(self, claims: Claims) -> bool:
        """True if its handshake knew less of the clients."""
        return self._claiming.claimed not in (None, claims)

    async def hold(self, ready: Tell, changed: Tell) -> None:
        """Connect, report that it is ready, and stay until it is lost or closed; raises ConnectFailedError."""
        connected = False
        try:
            async with self._client:
                # The SDK would check answers against the server's own schema, on this thread: a large one takes
                # seconds, and a pattern in it can take for ever. What comes is plain data, whatever was promised.
                self._client.session.validate_tool_result = _accept  # type: ignore[method-assign]
                self.offer = await self._read_offer()
                connected = True
                await ready(self)
                await self._keep(changed)
        except Exception as error:  # the edge of the SDK: whatever ends a connection ends nothing else
            self.verdict = self._describe(error, connected=connected)
            if not connected:
                cause = innermost(error)
                known = cause if isinstance(cause, ConnectFailedError) else None
                another_way = isinstance(cause, MCPError | ValidationError) or self._transport.ended.is_set()
                raise known or ConnectFailedError(
                    self.verdict, tail=self._transport.tail, another_way=another_way
                ) from error
        else:
            if self._transport.ended.is_set():
                self.verdict = self._transport.describe_end()
        finally:
            self.closing.set()
            self.listed.set()
            self.ended.set()

    async def _keep(self, changed: Tell) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_changes, changed)
            if self._beside_tools:
                self._note_stale(*self._beside_tools)  # only who looks for one of them waits for it
            else:
                self.listed.set()
            if self.offer.era == "sessionless" and self._changing:
                tasks.start_soon(self._listen)
            tasks.start_soon(self._note_end)
            tasks.start_soon(self.contents.watch, self._plan.watched)
            await self.closing.wait()
            if self._transport.forgotten:  # each call under way hears that for itself, or is answered after all
                with anyio.move_on_after(_VERDICT):
                    await self.calls.wait_until_none()
            tasks.cancel_scope.cancel()

    async def _note_end(self) -> None:
        await self._transport.ended.wait()
        self.closing.set()

    async def _follow_changes(self, changed: Tell) -> None:
        """Read a list again whenever the server says that it has changed; several notices at once count as one."""
        while True:
            await self._changed.wait()
            self._changed, stale, self._stale = anyio.Event(), self._stale, set()
            try:
                offer = await self._read_offer() if "tools" in stale else self.offer
                listed = await self.contents.list_parts(stale)
            except LostError:
                return
            except (MCPError, ValidationError) as error:
                write_log(logging.WARNING, "proxy.refresh", server=self._plan.server, reason=str(error))
            else:
                self.offer = offer.with_lists(listed)
                await changed(self)
            self.listed.set()
            await anyio.sleep(_BETWEEN_REFRESHES)

    def _note_stale(self, *lists: str) -> None:
        if lists:
            self._stale.update(lists)
            self._changed.set()

    @property
    def _beside_tools(self) -> set[str]:
        """The lists beside that of tools that it has, and that are wanted."""
        able = self._client.server_capabilities
        having = {"prompts": able.prompts, "resources": able.resources}
        return {part for part in self._plan.settings.offer if having.get(part) is not None}

    @property
    def _changing(self) -> set[str]:
        """The lists that may change."""
        able = self._client.server_capabilities
        changes = {"tools": able.tools, "prompts": able.prompts, "resources": able.resources}
        wanted = {"tools", *self._beside_tools}
        return {part for part, each in changes.items() if part in wanted and each is not None and each.list_changed}

    async def _listen(self) -> None:
        """Subscribe to changes, which the sessionless protocol announces only to subscribers."""
        try:
            tools, prompts, resources = (part in self._changing for part in ("tools", "prompts", "resources"))
            async with self._client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as subscription:
                async for event in subscription:
                    self._note_stale(*(part for kind, part in _CHANGES if isinstance(event, kind)))
        except Exception as error:  # noqa: BLE001 - the edge of the SDK: without it, changes are seen at the next start
            write_log(logging.INFO, "proxy.listen", server=self._plan.server, ended=str(error))

    async def _read_offer(self) -> Offer:
        client = self._client
        with LogSpan("proxy.list", server=self._plan.server) as span:
            tools = await self._list_tools()
            span.add(tools=len(tools), version=client.protocol_version)
        able = client.server_capabilities
        tasks = able.tasks
        requests = None if tasks is None else tasks.requests
        as_tasks = requests is not None and requests.tools is not None and requests.tools.call is not None
        handshake = client.session.initialize_result is not None
        only_tasks = (str(tool["name"]) for tool in tools if needs_task(tool)) if as_tasks and handshake else ()
        self._only_tasks = frozenset(only_tasks)
        info = client.server_info
        return Offer(
            tools,
            client.instructions or "",
            (info.title or info.name) if info is not None else "",
            "handshake" if handshake else "sessionless",
            prompts=() if able.prompts is None else None,
            resources=() if able.resources is None else None,
            templates=() if able.resources is None else None,
            version=info.version[:_LONGEST_VERSION] if info is not None else "",
        )

    async def _list_tools(self) -> tuple[JsonObject, ...]:
        """List its tools; many servers that have some forget to say so, and those that have none refuse."""
        # What it lists is kept with its definitions, and not by the SDK's client as well.
        try:
            listing = await self._lists.read("tools", partial(self._client.list_tools, cache_mode="bypass"))
        except MCPError as error:
            if self._client.server_capabilities.tools is not None or error.code == types.CONNECTION_CLOSED:
                raise
            listing = Listing()
        # One that does not say for how long its list is fresh announces changes.
        fresh_for = math.inf if listing.fresh_for is None else min(listing.fresh_for, MAX_TTL_MS) / 1000
        self._tools_until = anyio.current_time() + fresh_for
        return (*listing.items, *listing.refused)

    async def _on_message(self, message: object) -> None:
        for kind, part in _NOTICES:
            if isinstance(message, kind):
                self._note_stale(*({part} & {"tools", *self._beside_tools}))
        if isinstance(message, types.ResourceUpdatedNotification):
            self._plan.watched.tell(message.params.uri)
        elif isinstance(message, Exception):
            write_log(logging.WARNING, "proxy.transport", server=self._plan.server, reason=str(message))

    def _describe(self, error: Exception, *, connected: bool) -> str:
        """Say what happened, as the rest of a sentence that begins "the server NAME"."""
        cause = innermost(error)
        if isinstance(cause, ConnectFailedError):
            return cause.reason
        if isinstance(cause, ValidationError):
            return f"does not follow the protocol: {first_mistake(cause)}"
        return self._transport.describe_failure(cause, message_of(cause) or type(cause).__name__, connected=connected)

    async def call(self, tool: str, arguments: JsonObject, context: CallContext | None) -> JsonObject | ServerTask:
        """Call a tool by its own name; the result, or the task that its server has made of the call.

        If cancelled, it tells the server. Raises LostError or ToolError.
        """
        progress = _progress_of(context)
        if anyio.current_time() > self._tools_until:
            self._note_stale("tools")  # the call does not wait for it
        with self.calls.add(context):
            if tool in self._only_tasks:
                return await self._ask(self._tasks.begin(tool, arguments))
            if self._transport.lane is not None and self.offer.era == "handshake":
                return await self._ask(self._transport.lane.call(tool, arguments, progress))
            result = await self._ask(self._client.call_tool(tool, arguments, progress_callback=progress))
            if isinstance(result, TaskBegun):
                return self._tasks.begun(result)
            return result.model_dump(by_alias=True, mode="json", exclude_unset=True)

    async def follow(self, task: ServerTask, context: CallContext | None) -> JsonObject:
        """Return the result of a call that has become a task; if cancelled, so is the task.

        Raises TaskGoneError, LostError where the task may go on, and ToolError.
        """
        if (task.form == "extension") != (self.offer.era == "sessionless"):
            raise TaskGoneError("speaks another revision of the protocol than when it began a task", begun=True)
        with self.calls.add(context):
            record = None if context is None else context.task_record
            return await self._tasks.follow(task, self._client.session, record, _progress_of(context), self._plan.place)

    async def _send_raw(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request that the SDK does not know; raises MCPError."""
        session, options = self._client.session, CallOptions()
        data: dict[str, Any] = {"method": method, "params": params}
        session._stamp(data, options)  # noqa: SLF001 - the SDK's own way validates what it does not know
        if isinstance(task := params.get("taskId"), str):
            options.setdefault("headers", {})[MCP_NAME_HEADER] = encode_header_value(task)
        result: JsonObject = await session._dispatcher.send_raw_request(method, data["params"], options)  # noqa: SLF001
        return result

    async def _judge_now(self, error: MCPError) -> Exception:
        return await self._judge(error, self._transport.given)

    async def _judge(self, error: MCPError, given: int) -> Exception:
        """Return what an error of the SDK means for the call."""
        if error.code == types.CONNECTION_CLOSED:
            with anyio.move_on_after(_VERDICT if self._transport.ends else 0.2):
                await self.ended.wait()
            reason = self.verdict if self.ended.is_set() else error.error.message
            return LostError(reason, begun=self._transport.took_after(given), tail=self._transport.tail)
        if self._transport.forgotten and self.offer.era == "handshake":
            self.closing.set()
            return LostError(f"has forgotten the session: {error.error.message}", begun=False)
        if error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY:
            return ToolError(word_missing(error))
        return ToolError(error.error.message or f"its server answered with the error {error.code}")

    async def _ask(self, asking: Awaitable[Answer]) -> Answer:
        """Wait for an answer; raises LostError or ToolError."""
        given = self._transport.given
        try:
            return await asking
        except MCPError as error:
            raise await self._judge(error, given) from error
        except ValidationError as error:
            raise ToolError(f"its server's answer does not follow the protocol: {first_mistake(error)}") from error

    async def ping(self) -> None:
        """Find out if it is still there, where only asking can tell, and close it if not."""
        if self._transport.ends or not self.usable:
            return
        try:
            if self.offer.era == "handshake":
                await self._client.session.send_ping()
            else:
                await self._client.session.send_discover(self._client.protocol_version)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or self._transport.forgotten:
                self.closing.set()


async def _accept(name: str, result: object) -> None:
    """Accept every answer."""


def _progress_of(context: CallContext | None) -> ProgressFnT | None:
    if context is None or context.caller.progress is None:
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await context.progress(progress, total, f"{context.tool}: {message}" if message else context.tool)

    return report


def build_connection(plan: ConnectionPlan) -> Connection:
    """Build a connection that is not open yet; raises ConnectFailedError."""
    if plan.settings.command is None:
        return Connection(plan, HttpTransport(plan))
    try:
        command = build_command(plan.settings, environ=plan.environ, project=plan.project)
    except OSError as error:
        raise ConnectFailedError(f"cannot be started: {error}") from error
    return Connection(plan, StdioTransport(plan.server, command))
