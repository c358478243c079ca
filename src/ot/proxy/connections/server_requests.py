"""The requests of a proxied server (sampling, elicitation, roots, logging), passed on to the client.

Over a pipe a server does not say which of its calls it asks for. Where all calls in flight come from one client the
question is that client's; where they come from several it is refused, for it might reach the wrong person.

The SDK claims every ability for which it has a callback, so messages are corrected to claim what the clients can do.
In the handshake the clients that are known speak together; without one, each request claims for its call's client, and
that we take tasks for answers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self, TypeVar

import mcp_types as types
from mcp.client._transport import TransportStreams, WriteStream
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_CAPABILITIES_META_KEY, JSONRPCRequest
from pydantic import BaseModel, ValidationError

from mcp_core.json_types import Json, JsonObject
from ot.clients.front import ELICIT, LIST_ROOTS, SAMPLE, Claims, Front, FrontError
from ot.clients.person import served
from ot.context import CallContext, current_or_none
from ot.logs import write_log
from ot.proxy.connections.server_questions import HiddenTextError, ServerQuestions, show_form
from ot.proxy.status import CallsInFlight, front_of
from ot.proxy.task_states import EXTENSION
from ot.text.log_text import Outline

_LEVELS = {
    "debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING,
    "error": logging.ERROR, "critical": logging.ERROR, "alert": logging.ERROR, "emergency": logging.ERROR,
}  # fmt: skip

_MOST_LOGGED = 600  # lines of one server in a minute
Kind = TypeVar("Kind", bound=BaseModel)


class ServerRequests:
    """The callbacks of one connection."""

    def __init__(self, server: str, calls: CallsInFlight) -> None:
        self._server = server
        self._calls = calls
        self._questions = ServerQuestions(server)
        self._logged = 0
        self._minute = 0

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """Ask the client's model."""
        kind = types.CreateMessageResultWithTools if params.tools else types.CreateMessageResult
        answer = await self._ask("sampling (an answer from the client's model)", SAMPLE, _plain(params), context)
        return answer if isinstance(answer, types.ErrorData) else _read(kind, answer)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the person, who is told which server wants to know (`server_questions`)."""
        what = "an answer from the person"
        try:
            shown = show_form(_plain(params))
        except HiddenTextError as error:
            return self._decline(f"{what} was requested, but {error}")
        answer = await self._ask(what, ELICIT, shown, context)
        return answer if isinstance(answer, types.ErrorData) else _read(types.ElicitResult, answer)

    async def list_roots(self, context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        """List the client's folders; if it names none, a server keeps to those in its own arguments."""
        found = self._find(LIST_ROOTS, {})
        if found is not None:
            try:
                return types.ListRootsResult.model_validate(await found[1].request(LIST_ROOTS, {}, _key_of(context)))
            except (FrontError, ValidationError) as error:
                write_log(logging.WARNING, "proxy.roots", server=self._server, reason=str(error))
        return types.ListRootsResult(roots=[])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Write to our log, and to the clients whose calls are being carried out; past a limit, lines are left out."""
        minute = int(time.monotonic() // 60)
        self._logged = self._logged + 1 if minute == self._minute else 1
        self._minute = minute
        if self._logged >= _MOST_LOGGED:
            if self._logged == _MOST_LOGGED:
                reason = "too many lines; the rest of this minute is left out"
                write_log(logging.WARNING, "proxy.log", server=self._server, reason=reason)
            return
        level = _LEVELS.get(params.level, logging.INFO)
        write_log(
            level,
            f"{self._server}.log",
            logger=params.logger or "",
            message=Outline(params.data) if served() else params.data,
        )
        logger = f"{self._server}.{params.logger}" if params.logger else self._server
        for _, front in self._calls.fronts():
            await front.log(params.level, logger, params.data)

    async def _ask(
        self, what: str, method: str, params: JsonObject, context: ClientRequestContext
    ) -> JsonObject | types.ErrorData:
        found = self._find(method, params)
        if found is None:
            reason = "no client can provide it: the calling client does not support it, or no client is waiting"
            if len(self._calls.fronts()) > 1:
                reason = "several clients are calling this server, so OneTool cannot tell whom to ask"
            return self._decline(f"{what} was requested, but {reason}")
        call, front = found
        try:
            with call.held():
                if method != ELICIT:
                    return await front.request(method, params, _key_of(context))

                async def put(question: JsonObject) -> JsonObject:
                    return await front.request(method, question, _key_of(context))

                return await self._questions.ask(params, front.session, put)
        except FrontError as error:
            return self._decline(f"{what} was requested, but the client refused: {error}")

    def _find(self, method: str, params: Mapping[str, Json]) -> tuple[CallContext, Front] | None:
        """Return the call that this is about, and its client, if that is able to answer."""
        context = current_or_none()  # set where the question came within the call itself
        front = front_of(context)
        fronts = [(context, front)] if context is not None and front is not None else self._calls.fronts()
        return fronts[0] if len(fronts) == 1 and fronts[0][1].can(method, params) else None

    def _decline(self, reason: str) -> types.ErrorData:
        write_log(logging.WARNING, "proxy.declined", server=self._server, reason=reason)
        return types.ErrorData(code=types.INVALID_REQUEST, message=f"OneTool: {reason}")


def _key_of(context: ClientRequestContext) -> str:
    """Return the key that the server has for a question in its answer; the number of a request is none."""
    within_call = current_or_none() is not None
    return context.request_id if within_call and isinstance(context.request_id, str) else ""


def _plain(params: BaseModel) -> JsonObject:
    found = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    found.pop("_meta", None)  # of that server's own conversation
    return found


def _read(kind: type[Kind], answer: Mapping[str, Json]) -> Kind | types.ErrorData:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        return types.ErrorData(code=types.INTERNAL_ERROR, message=f"OneTool: the client's answer is unusable: {error}")


class ClaimingTransport:
    """Another transport, with other claims; `claimed` is what its handshake said, if it had one."""

    def __init__(self, transport: AbstractAsyncContextManager[TransportStreams], known: Callable[[], Claims]) -> None:
        self.claimed: Claims | None = None
        self._transport = transport
        self._known = known

    async def __aenter__(self) -> TransportStreams:
        reader, writer = await self._transport.__aenter__()
        return reader, _ClaimingWriter(writer, self.correct)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, traceback)

    def correct(self, request: JSONRPCRequest) -> None:
        """Have a request claim what is true."""
        params = request.params
        if params is None:
            return
        if request.method == "initialize":
            self.claimed = params["capabilities"] = self._known()
        elif CLIENT_CAPABILITIES_META_KEY in params.get("_meta", {}):
            front = front_of(current_or_none())
            claims = self._known() if front is None else front.able.claims
            extensions = {**claims.get("extensions", {}), EXTENSION: {}}
            params["_meta"][CLIENT_CAPABILITIES_META_KEY] = {**claims, "extensions": extensions}


class _ClaimingWriter:
    """A stream to a server, whose requests are corrected first."""

    def __init__(self, stream: WriteStream[SessionMessage], correct: Callable[[JSONRPCRequest], None]) -> None:
        self._stream = stream
        self._correct = correct

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self._correct(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)


def word_missing(error: MCPError) -> str:
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
