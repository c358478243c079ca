"""MCP over HTTP: the SDK's streamable transport, or the older one with two endpoints, on our own HTTP client.

The SDK has the older one too, which refuses events of more than a megabyte and lets a request wait forever whose post
has failed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread
import httpx2
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

from ot.logs import write_log
from ot.proxy.authorisation.opening import build_authorisation
from ot.proxy.plan import ConnectionPlan
from ot.services.trusted_roots import trusted_roots

_POST = 60.0  # seconds; a post is only acknowledged, the answer comes as an event
Incoming = SessionMessage | Exception
Sending = MemoryObjectSendStream[Incoming]
_CONNECT = 15.0  # seconds
_CALL = b'"tools/call"'
_MAX_EVENT = 256 * 1024 * 1024  # bytes


class EndpointError(Exception):
    """The server named no address to post to, or one that is not its own."""


@asynccontextmanager
async def open_older_http(
    url: str, client: httpx2.AsyncClient, *, server: str, max_event: int
) -> AsyncIterator[TransportStreams]:
    """Open streams over a client, which stays the caller's to close; raises HTTPError or EndpointError."""
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    async with client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        events = httpx2.EventSource(response, max_event_size=max_event)
        incoming, read = anyio.create_memory_object_stream[Incoming]()
        write, outgoing = anyio.create_memory_object_stream[SessionMessage]()
        async with incoming, read, write, outgoing, anyio.create_task_group() as tasks:
            address = await tasks.start(_read, events, url, incoming, server)
            tasks.start_soon(_post, client, address, outgoing, incoming)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()


async def _read(
    events: httpx2.EventSource, url: str, incoming: Sending, server: str, *, task_status: TaskStatus[str]
) -> None:
    """Pass on every message until the stream ends."""
    named = False
    async with incoming:
        async for event in events:
            if event.event == "endpoint" and not named:
                named = True
                address = urljoin(url, event.data)
                if urlsplit(address)[:2] != urlsplit(url)[:2]:  # it would get our headers too
                    raise EndpointError("it named a POST address on another host")
                task_status.started(address)
            elif event.event == "message" and event.data:
                try:
                    message = jsonrpc_message_adapter.validate_json(event.data, by_name=False)
                except ValueError as error:
                    facts = {"content": event.data[:500], "reason": type(error).__name__}
                    write_log(logging.WARNING, "proxy.not_a_message", server=server, **facts)
                else:
                    await incoming.send(SessionMessage(message))
        if not named:
            raise EndpointError("it named no address for POST requests")


async def _post(
    client: httpx2.AsyncClient, address: str, outgoing: MemoryObjectReceiveStream[SessionMessage], incoming: Sending
) -> None:
    async for item in outgoing:
        body = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            headers = {"Content-Type": "application/json"}
            (await client.post(address, content=body, headers=headers, timeout=_POST)).raise_for_status()
        except httpx2.HTTPError as error:
            if isinstance(item.message, JSONRPCRequest):
                reason = ErrorData(code=CONNECTION_CLOSED, message=f"the request could not be posted: {error}")
                failure = JSONRPCError(jsonrpc="2.0", id=item.message.id, error=reason)
                await incoming.send(SessionMessage(failure))


class HttpTransport:
    """An HTTP client and its streams, which `async with` gives."""

    ends = False  # only the next request notices that the server has ended
    given = 0  # how many calls of tools began to be sent
    tail = ""  # nobody sees what the server writes to stderr
    lane = None  # there is no shorter way for calls

    def __init__(self, plan: ConnectionPlan) -> None:
        self.ended = anyio.Event()  # never set
        self._plan = plan
        self._stack = AsyncExitStack()
        self._refused: int | None = None  # the last status that was an error
        self.forgotten = False  # the server does not know our session any more

    async def __aenter__(self) -> TransportStreams:
        url = self._plan.settings.url
        assert url is not None
        roots = await anyio.to_thread.run_sync(trusted_roots)  # the first time they are read
        client = httpx2.AsyncClient(
            headers=self._plan.settings.headers,
            timeout=httpx2.Timeout(_CONNECT, read=None),  # whoever waits for an answer decides how long it may take
            verify=roots,
            auth=await build_authorisation(self._plan),
            event_hooks={"request": [self._trace], "response": [self._note]},
        )
        await self._stack.enter_async_context(client)
        if self._plan.older:
            streams = open_older_http(url, client, server=self._plan.server, max_event=_MAX_EVENT)
        else:
            streams = streamable_http_client(url, http_client=client, max_sse_event_size=_MAX_EVENT)
        try:
            return await self._stack.enter_async_context(streams)
        except BaseException:
            await self._stack.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    async def _trace(self, request: httpx2.Request) -> None:
        if request.method == "POST" and _CALL in request.content:
            request.extensions["trace"] = self._count

    async def _count(self, event: str, _: object) -> None:
        if event.endswith("send_request_headers.started"):  # there is a connection to the server
            self.given += 1

    async def _note(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self._refused = response.status_code
            # The protocol wants 404 for a session that is unknown, some servers use 400.
            if MCP_SESSION_ID in response.request.headers and response.status_code in (400, 404):
                self.forgotten = True

    def took_after(self, given: int) -> bool:
        """True if a call was sent after the first `given`; which of several is not told apart."""
        return self.given > given

    def describe_end(self) -> str:
        """Say how it ended; over HTTP a server has no end of its own."""
        return "was closed"

    def describe_silence(self) -> str:
        """Say what is known about a server that was not ready in time, to be appended to a sentence."""
        return f"; its last answer had the HTTP status {self._refused}" if self._refused is not None else ""

    def describe_failure(self, cause: BaseException, message: str, *, connected: bool) -> str:
        """Say what went wrong, as the rest of a sentence that begins "the server NAME"."""
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return f"cannot be reached at its address: {message}"
        if isinstance(cause, httpx2.HTTPError):
            return f"was lost: {message}" if connected else f"did not answer as expected: {message}"
        status = f" (HTTP status {self._refused})" if self._refused is not None else ""
        return f"was lost: {message}{status}" if connected else f"could not be connected: {message}{status}"
