"""Requests without a session over HTTP, each answered in the task in which it came.

The SDK gives such a request two more tasks, a stream between them and a deadline, behind five layers of a web
application: more than the rest of what a server does for a short run. Here is the way of a request in which nothing is
wrong: a plain one needs nothing of the SDK, which answers every other one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TypeAlias

import anyio
from mcp.server.runner import modern_error_data
from mcp.server.streamable_http import check_accept_headers
from mcp.shared import inbound
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_core.json_types import JsonObject
from mcp_core.line_pipes import MAX_LINE
from onetool.front.commands import Client, Commands
from onetool.front.definition import LOOK, define_tools, final_names
from onetool.front.messages import (
    CALL,
    DISCOVER,
    INVALID_PARAMS,
    LIST,
    LISTS,
    Request,
    RequestId,
    progress_params,
    read_command,
    read_request,
    shows_views,
)
from onetool.front.offer import Offer, StaleCursorError
from onetool.front.rendering import FRESH, STALE_CURSOR, PlainResults, ProgressReport, render_answer
from onetool.front.server import TRACE, OneToolServer, timed_operation
from onetool.front.tasks import render_begun, takes_tasks
from onetool.http.connections import connection_of
from onetool.http.gates import join_body, read_messages, receive_again
from onetool.people.person_of import person_in
from ot.clients.front import Abilities, Front
from ot.clients.person import Person
from ot.run.answer import Answer
from ot.telemetry.telemetry import Telemetry

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
PING_INTERVAL = 15.0  # seconds without a word after which a proxy could take a stream for dead
_OK = 200
_LONGEST_ACCEPT = 1000
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


class PlainRequests:
    """Reads and answers the requests that need nothing of the SDK, as the front does at stdin."""

    def __init__(self, commands: Commands, offer: Offer, results: PlainResults, telemetry: Telemetry) -> None:
        self._commands = commands
        self._offer = offer
        self._results = results
        self._telemetry = telemetry
        self._tools = final_names(look=commands.apps.look)

    def read(self, body: bytes, headers: Mapping[str, str]) -> Request | None:
        """Read a plain request whose headers say the same; None for any other, and where requests are traced."""
        if self._telemetry.tracer is not None or TRACE in headers:
            return None
        request = read_request(body)
        if request is None or not request.sessionless or request.method not in (CALL, DISCOVER, LIST, *LISTS):
            return None
        if (headers.get("mcp-method"), headers.get("mcp-protocol-version")) != (request.method, request.revision):
            return None
        plain = request.method != CALL or (
            read_command(request, self._tools) is not None
            and headers.get("mcp-name") == request.params["name"]
            and not Abilities.read(request.capabilities).any
        )
        return request if plain else None

    async def answer(self, request: Request, person: Person, report: Report) -> JsonObject:
        with timed_operation(self._telemetry, request.method) as operation:
            if request.method == DISCOVER:
                self._commands.apps.clients_of(person).note(Abilities.read(request.capabilities))
                return self._results.discover(shows=shows_views(request))
            if request.method == LIST:
                offer, shows = await self._offer.describe(person), shows_views(request)
                listed: JsonObject = {"tools": define_tools(self._tools, offer, shows=shows)}
                return self._results.complete(listed, sessionless=True, fresh=FRESH)
            if request.method in LISTS:
                return await self._list(request, person)
            answer = await self._run(request, person, report)
            if answer.task is not None:
                return self._results.complete(render_begun(answer.task), sessionless=True)
            operation.failed = answer.is_error
            return self._results.complete(render_answer(answer, request.revision), sessionless=True)

    async def _list(self, request: Request, person: Person) -> JsonObject:
        try:
            listed, fresh = await self._offer.list(person, request.method, str(request.params.get("cursor", "")))
        except StaleCursorError:
            raise MCPError(INVALID_PARAMS, STALE_CURSOR) from None
        return self._results.complete(listed, sessionless=True, fresh=fresh)

    async def _run(self, request: Request, person: Person, report: Report) -> Answer:
        memory = self._commands.clients.shared(person.principal)
        able = Abilities.read(request.capabilities)  # it may show views, and cannot be asked
        front, looks = Front(object(), able, sessionless=True), self._tools[str(request.params["name"])] == LOOK
        takes = takes_tasks(request.capabilities)
        client = Client(person, request.client, memory, front, ProgressReport(report), looks=looks, takes_tasks=takes)
        outcome = await self._commands.run(read_command(request, self._tools) or "", client)
        assert isinstance(outcome, Answer), "a client that cannot be asked is asked nothing"
        return outcome


@dataclass(frozen=True, slots=True)
class SessionlessRequests:
    """Answers requests without a session in which nothing is wrong; `app`, the SDK's, answers all others."""

    app: ASGIApp
    server: OneToolServer
    plain: PlainRequests
    path: str
    hosts: set[str]
    origins: set[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self._proper_headers(scope)
        if headers is None:
            await self.app(scope, receive, send)
            return
        messages = await read_messages(receive, MAX_LINE)
        body = b"" if messages[-1].get("more_body", True) else join_body(messages)
        person = person_in(asked := HttpRequest(scope, receive))
        plain = self.plain.read(body, headers)
        if plain is not None and plain.id is not None:
            answer = _Answer(plain.id, plain.token, asked, send)
            await self._answer(answer, scope, partial(self.plain.answer, plain, person, answer.progress))
            return
        odd = self._read(body, headers)
        if odd is None:
            await self.app(scope, receive_again(messages, receive), send)
            return
        request, route = odd
        answer = _Answer(request.id, progress_token_from_params(request.params), asked, send)
        work = partial(self.server.answer, answer, route, request.method, request.params)
        await self._answer(answer, scope, work)

    async def _answer(self, answer: _Answer, scope: Scope, work: Callable[[], Awaitable[JsonObject]]) -> None:
        with anyio.CancelScope() as waiting, connection_of(scope).telling_loss(waiting.cancel):
            try:
                try:
                    result = await work()
                except Exception as error:  # noqa: BLE001 - the SDK knows which of them a client is told of
                    await answer.refuse(error)
                else:
                    await answer.finish({"jsonrpc": "2.0", "id": answer.request_id, "result": result})
            finally:
                answer.end()

    def _proper_headers(self, scope: Scope) -> dict[str, str] | None:
        """Return the headers of a request without a session; None if anything is odd about them."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self.path:
            return None
        raw: list[tuple[bytes, bytes]] = scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
        proper = (
            len(headers) == len(raw)
            and headers.get(inbound.MCP_PROTOCOL_VERSION_HEADER) in MODERN_PROTOCOL_VERSIONS
            and headers.get("host") in self.hosts
            and (not headers.get("origin") or headers["origin"] in self.origins)
            and headers.get("content-type", "").lower().startswith("application/json")
            and (length := headers.get("content-length", "")).isascii()
            and length.isdigit()
            and int(length) <= MAX_LINE
            and len(accept := headers.get("accept", "")) <= _LONGEST_ACCEPT
            and _accepts_both(accept)
        )
        return headers if proper else None

    def _read(
        self, body: bytes, headers: Mapping[str, str]
    ) -> tuple[JSONRPCRequest, inbound.InboundModernRoute] | None:
        try:
            request = JSONRPCRequest.model_validate_json(body, by_name=False)
        except ValidationError:
            return None
        name = (request.params or {}).get("name")
        if request.method == "subscriptions/listen" or (isinstance(name, str) and name in self.server.mirroring):
            return None
        route = inbound.classify_inbound_request({"method": request.method, "params": request.params}, headers=headers)
        return (request, route) if isinstance(route, inbound.InboundModernRoute) else None


@lru_cache(maxsize=32)
def _accepts_both(accept: str) -> bool:
    return all(check_accept_headers(HttpRequest({"type": "http", "headers": [(b"accept", accept.encode("latin-1"))]})))


class _Answer:
    """The answer to one request, as the SDK has it: JSON, or events if anything is told before, or after a while."""

    can_send_request = False

    def __init__(self, identifier: RequestId, token: RequestId | None, asked: HttpRequest, send: Send) -> None:
        self.request_id = identifier
        self.message_metadata = ServerMessageMetadata(request_context=asked)
        self.transport = TransportContext(kind="streamable-http", can_send_request=False, headers=asked.headers)
        self._token = token
        self._send = send
        self._streams = False
        self._sending = anyio.Lock()
        self._pinging: asyncio.Task[None] | None = None
        self._silence = asyncio.get_running_loop().call_later(PING_INTERVAL, self._begin_pinging)

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a client without a session cancels by leaving."""
        return anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, object] | None, opts: CallOptions | None = None
    ) -> JsonObject:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, object] | None, opts: CallOptions | None = None) -> None:
        told = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        await self._send_events(_event(told))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._token is not None:
            await self.notify("notifications/progress", progress_params(self._token, progress, total, message))

    async def finish(self, answer: JsonObject, status: int = _OK) -> None:
        self.end()
        async with self._sending:
            if self._streams:
                await self._send({"type": "http.response.body", "body": _event(answer), "more_body": False})
                return
            body = to_json(answer)
            headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def refuse(self, error: Exception) -> None:
        data = modern_error_data(error)
        status = inbound.ERROR_CODE_HTTP_STATUS.get(data.code, _OK)
        told = data.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self.finish({"jsonrpc": "2.0", "id": self.request_id, "error": told}, status)

    def end(self) -> None:
        self._silence.cancel()
        if self._pinging is not None:
            self._pinging.cancel()

    async def _send_events(self, events: bytes) -> None:
        async with self._sending:
            if not self._streams:
                self._streams = True
                await self._send({"type": "http.response.start", "status": _OK, "headers": _EVENTS})
            await self._send({"type": "http.response.body", "body": events, "more_body": True})

    def _begin_pinging(self) -> None:
        self._pinging = asyncio.get_running_loop().create_task(self._ping())

    async def _ping(self) -> None:
        while True:
            await self._send_events(b": ping\r\n\r\n")
            await anyio.sleep(PING_INTERVAL)


def _event(message: Mapping[str, object]) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % to_json(message)
