"""The HTTP transport of 2024: a stream of events from the server, which names the address to post to.

The SDK has one too, which refuses events of more than a megabyte and lets a request wait forever whose post has failed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

from ot.logs import write_log

_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
_POST = 60.0  # seconds; a post is only acknowledged, the answer comes as an event
_SHOWN = 500

Incoming = SessionMessage | Exception


class EndpointError(Exception):
    """The server named no address to post to, or one that is not its own."""


@asynccontextmanager
async def open_older_http(
    url: str, client: httpx2.AsyncClient, *, server: str, max_event: int
) -> AsyncIterator[TransportStreams]:
    """Open streams over a client, which stays the caller's to close; raises HTTPError or EndpointError."""
    async with client.stream("GET", url, headers=_HEADERS) as response:
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
    events: httpx2.EventSource,
    url: str,
    incoming: MemoryObjectSendStream[Incoming],
    server: str,
    *,
    task_status: TaskStatus[str],
) -> None:
    """Pass on every message until the stream ends."""
    named = False
    async with incoming:
        async for event in events:
            if event.event == "endpoint" and not named:
                named = True
                task_status.started(_own_address(url, event.data))
            elif event.event == "message" and event.data:
                try:
                    message = jsonrpc_message_adapter.validate_json(event.data, by_name=False)
                except ValueError as error:
                    write_log(
                        logging.WARNING, "proxy.not_a_message", server=server, content=event.data[:_SHOWN],
                        reason=type(error).__name__,
                    )  # fmt: skip
                else:
                    await incoming.send(SessionMessage(message))
        if not named:
            raise EndpointError("it named no address for POST requests")


def _own_address(url: str, named: str) -> str:
    """Return the address to post to; another machine would receive what is meant for this one, headers included."""
    address = urljoin(url, named)
    if urlsplit(address)[:2] != urlsplit(url)[:2]:
        raise EndpointError("it named a POST address on another host")
    return address


async def _post(
    client: httpx2.AsyncClient,
    address: str,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[Incoming],
) -> None:
    async for item in outgoing:
        body = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            response = await client.post(
                address, content=body, headers={"Content-Type": "application/json"}, timeout=_POST
            )
            response.raise_for_status()
        except httpx2.HTTPError as error:
            if isinstance(item.message, JSONRPCRequest):
                reason = ErrorData(code=CONNECTION_CLOSED, message=f"the request could not be posted: {error}")
                failure = JSONRPCError(jsonrpc="2.0", id=item.message.id, error=reason)
                await incoming.send(SessionMessage(failure))
