"""One connection to one server: connecting, listing, calling, and how it ended.

This module loads the SDK's client, so it is itself loaded only when the first server is connected.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.methods import validate_server_result
from pydantic import BaseModel, ValidationError

from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from ot.clients.front import Claims
from ot.context import CallContext
from ot.errors import ToolError
from ot.logs import LogSpan, write_log
from ot.proxy.connections.server_requests import ClaimingTransport, ServerRequests
from ot.proxy.definitions.pins import Offer
from ot.proxy.plan import ConnectionPlan
from ot.proxy.status import CallsInFlight, ConnectFailedError, LostError
from ot.proxy.transports.commands import build_command
from ot.proxy.transports.http import HttpTransport
from ot.proxy.transports.stdio import StdioTransport
from ot.registry.from_schema import REFUSED
from ot_sdk.failures import innermost, message_of

_MOST_ITEMS = 5_000


async def list_all(fetch: Callable[..., Awaitable[types.PaginatedResult]], field: str) -> list[JsonObject]:
    """Follow the pages to their end; a server whose pages never end, or lead in a circle, is cut off."""
    # `fetch` is a method of the SDK's client that lists the page at a `cursor`; raises MCPError.
    found: list[JsonObject] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(200):
        page = await fetch(cursor=cursor)
        found += map(plain, getattr(page, field))
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found) >= _MOST_ITEMS:
            break
        seen.add(cursor)
    return found[:_MOST_ITEMS]


def plain(item: BaseModel) -> JsonObject:
    """Return an item with the protocol's own names."""
    return item.model_dump(by_alias=True, mode="json", exclude_none=True)


Answer = TypeVar("Answer")
Tell = Callable[["Connection"], Awaitable[None]]
_BETWEEN_REFRESHES = 0.5  # seconds; a server that never stops changing must not keep us busy
_LONGEST_VERSION = 200  # characters
_VERDICT = 5.0  # seconds that it may take to find out how a connection ended


class Connection:
    """A live connection, used by any number of calls; its owner is the task that runs `hold`."""

    def __init__(self, plan: ConnectionPlan, transport: HttpTransport | StdioTransport) -> None:
        self.offer = Offer()
        self.calls = CallsInFlight()
        self.closing = anyio.Event()  # no longer usable
        self.ended = anyio.Event()  # everything of it is closed
        self.verdict = "was closed"
        self.describe_silence = transport.describe_silence  # says what is known if it was not ready in time
        self._plan = plan
        self._transport = transport
        self._changed = anyio.Event()
        self._claiming = ClaimingTransport(transport, plan.claims)
        requests = ServerRequests(plan.server, self.calls)
        self._client = Client(
            self._claiming,
            mode=plan.mode,
            cache=None,
            client_info=types.Implementation(name="onetool", version=VERSION),
            sampling_callback=requests.sample,
            elicitation_callback=requests.elicit,
            list_roots_callback=requests.list_roots,
            logging_callback=requests.log,
            log_level="info",
            message_handler=self._on_message,
        )

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
            self.ended.set()

    async def _keep(self, changed: Tell) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_changes, changed)
            tools = self._client.server_capabilities.tools
            if self.offer.era == "sessionless" and tools is not None and tools.list_changed:
                tasks.start_soon(self._listen)
            tasks.start_soon(self._note_end)
            await self.closing.wait()
            tasks.cancel_scope.cancel()

    async def _note_end(self) -> None:
        await self._transport.ended.wait()
        self.closing.set()

    async def _follow_changes(self, changed: Tell) -> None:
        """Read the list again whenever the server says that it has changed; several notices at once count as one."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                self.offer = await self._read_offer()
            except (MCPError, ValidationError) as error:
                write_log(logging.WARNING, "proxy.refresh", server=self._plan.server, reason=str(error))
            else:
                await changed(self)
            await anyio.sleep(_BETWEEN_REFRESHES)

    async def _listen(self) -> None:
        """Subscribe to changes, which the sessionless protocol announces only to subscribers."""
        try:
            async with self._client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    self._changed.set()
        except Exception as error:  # noqa: BLE001 - the edge of the SDK: without it, changes are seen at the next start
            write_log(logging.INFO, "proxy.listen", server=self._plan.server, ended=str(error))

    async def _read_offer(self) -> Offer:
        client = self._client
        with LogSpan("proxy.list", server=self._plan.server) as span:
            tools = await self._list_tools()
            span.add(tools=len(tools), version=client.protocol_version)
        info = client.server_info
        return Offer(
            tools,
            client.instructions or "",
            (info.title or info.name) if info is not None else "",
            "handshake" if client.session.initialize_result is not None else "sessionless",
            version=info.version[:_LONGEST_VERSION] if info is not None else "",
        )

    async def _list_tools(self) -> tuple[JsonObject, ...]:
        """List its tools; many servers that have some forget to say so, and those that have none refuse."""
        # One tool against the protocol makes the SDK refuse the whole list: then each is read by itself.
        try:
            try:
                return tuple(await list_all(self._client.list_tools, "tools"))
            except ValidationError:
                refused: list[JsonObject] = []
                return (*await list_all(partial(self._list_leniently, refused), "tools"), *refused)
        except MCPError as error:
            if self._client.server_capabilities.tools is not None or error.code == types.CONNECTION_CLOSED:
                raise
            return ()

    async def _list_leniently(self, refused: list[JsonObject], *, cursor: str | None) -> types.ListToolsResult:
        """List a page; tools against the protocol go to `refused`. Raises MCPError; ValidationError if it is none."""
        session, options = self._client.session, CallOptions()
        data: dict[str, Any] = {"method": "tools/list", "params": {} if cursor is None else {"cursor": cursor}}
        session._stamp(data, options)  # noqa: SLF001 - the SDK's own way validates the page as a whole
        raw = await session._dispatcher.send_raw_request("tools/list", data["params"], options)  # noqa: SLF001
        listed = raw.get("tools")
        page = _read_tools({**raw, "tools": []} if isinstance(listed, list) else raw, self._client.protocol_version)
        for tool in listed if isinstance(listed, list) else ():
            try:
                page.tools += _read_tools({**raw, "tools": [tool]}, self._client.protocol_version).tools
            except ValidationError as error:
                name, reason = tool.get("name") if isinstance(tool, dict) else None, _first_mistake(error, past=2)
                write_log(logging.WARNING, "proxy.tool", server=self._plan.server, refused=str(name), reason=reason)
                if isinstance(name, str) and name:
                    refused.append({"name": name, REFUSED: reason})
        return session._absorb_tool_listing(page, complete=cursor is None and page.next_cursor is None)  # noqa: SLF001

    async def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()
        elif isinstance(message, Exception):
            write_log(logging.WARNING, "proxy.transport", server=self._plan.server, reason=str(message))

    def _describe(self, error: Exception, *, connected: bool) -> str:
        """Say what happened, as the rest of a sentence that begins "the server NAME"."""
        cause = innermost(error)
        if isinstance(cause, ConnectFailedError):
            return cause.reason
        if isinstance(cause, ValidationError):
            return f"does not follow the protocol: {_first_mistake(cause)}"
        return self._transport.describe_failure(cause, message_of(cause) or type(cause).__name__, connected=connected)

    async def call(self, tool: str, arguments: JsonObject, context: CallContext | None) -> JsonObject:
        """Call a tool by its own name; if cancelled, it tells the server. Raises LostError or ToolError."""
        progress = _progress_of(context) if context is not None and context.caller.progress is not None else None
        with self.calls.add(context):
            if self._transport.lane is not None and self.offer.era == "handshake":
                return await self._ask(self._transport.lane.call(tool, arguments, progress))
            result = await self._ask(self._client.call_tool(tool, arguments, progress_callback=progress))
            return result.model_dump(by_alias=True, mode="json", exclude_unset=True)

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
            return ToolError(_word_missing(error))
        return ToolError(error.error.message or f"its server answered with the error {error.code}")

    async def resources(self) -> list[JsonObject]:
        """List resources, and patterns of them under `uriTemplate`; raises LostError or ToolError."""
        if self._client.server_capabilities.resources is None:
            return []
        listed = await self._ask(list_all(self._client.list_resources, "resources"))
        try:
            patterns = list_all(self._client.list_resource_templates, "resource_templates")
            return [*listed, *await self._ask(patterns)]
        except ToolError:
            return listed  # many servers know no patterns, and do not say so beforehand

    async def read(self, uri: str) -> list[JsonObject]:
        """Read the contents of a resource; raises LostError or ToolError."""
        result = await self._ask(self._client.read_resource(uri))
        return [plain(item) for item in result.contents]

    async def prompts(self) -> list[JsonObject]:
        """List prompts; raises LostError or ToolError."""
        if self._client.server_capabilities.prompts is None:
            return []
        return await self._ask(list_all(self._client.list_prompts, "prompts"))

    async def prompt(self, name: str, arguments: dict[str, str]) -> JsonObject:
        """Fill in one prompt; raises LostError or ToolError."""
        return plain(await self._ask(self._client.get_prompt(name, arguments)))

    async def _ask(self, asking: Awaitable[Answer]) -> Answer:
        """Wait for an answer; raises LostError or ToolError."""
        given = self._transport.given
        try:
            return await asking
        except MCPError as error:
            raise await self._judge(error, given) from error
        except ValidationError as error:
            raise ToolError(f"its server's answer does not follow the protocol: {_first_mistake(error)}") from error

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


def _read_tools(page: dict[str, Any], version: str) -> types.ListToolsResult:
    """Read a page as the SDK does; raises ValidationError."""
    with suppress(KeyError):  # a version without a schema of its own
        validate_server_result("tools/list", version, page)
    return types.ListToolsResult.model_validate(page, by_name=False)


def _first_mistake(error: ValidationError, *, past: int = 0) -> str:
    """Say where the first mistake is, without the first `past` steps of its path, and what it is."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, found['loc'][past:]))}: {found['msg']}"


async def _accept(name: str, result: object) -> None:
    """Accept every answer."""


def _progress_of(context: CallContext) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        await context.progress(progress, total, f"{context.tool}: {message}" if message else context.tool)

    return report


def _word_missing(error: MCPError) -> str:
    """Say what a server wants of its client, and that this one does not have it."""
    data = error.error.data
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    wanted = required if isinstance(required, dict) else {}
    extensions = wanted.get("extensions")
    names = [name for name in wanted if name != "extensions"]
    names += [f"the extension {name}" for name in extensions] if isinstance(extensions, dict) else []
    if not names:
        return error.error.message
    return f"its server requires what neither OneTool nor the client supports: {', '.join(names)[:300]}"


def build_connection(plan: ConnectionPlan) -> Connection:
    """Build a connection that is not open yet; raises ConnectFailedError."""
    if plan.settings.command is None:
        return Connection(plan, HttpTransport(plan))
    try:
        command = build_command(plan.settings, environ=plan.environ, project=plan.project)
    except OSError as error:
        raise ConnectFailedError(f"cannot be started: {error}") from error
    return Connection(plan, StdioTransport(plan.server, command))
