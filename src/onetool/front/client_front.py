"""The client at the front as proxied servers reach it through us: its person, its model, its folders, its log.

A client with a session is asked in the middle of its request. To a sessionless one the question is the answer of the
request, and the run waits for the next one (see `suspended_runs`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar, get_args

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmptyResult,
    ListRootsRequest,
    ListRootsResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    ServerRequest,
    SetLevelRequestParams,
)
from pydantic import BaseModel, ValidationError

from mcp_core.json_types import Json, JsonObject
from onetool.front.suspended_runs import Asking
from onetool.people.person_of import person_of
from ot.clients.claims import KnownClients
from ot.clients.front import FrontError
from ot.clients.person import Person

_LEVELS: tuple[str, ...] = get_args(LoggingLevel)  # the least important first
_MOST_CLIENTS = 256

State = TypeVar("State")
Result = TypeVar("Result", bound=BaseModel)


class LogLevels:
    """The log level of each client with a session; a client hears of nothing until it asks."""

    def __init__(self) -> None:
        self._levels: OrderedDict[int, tuple[object, int]] = OrderedDict()

    async def set_level(self, ctx: ServerRequestContext[State], params: SetLevelRequestParams) -> EmptyResult:
        """Answer `logging/setLevel`."""
        client = ctx.session.client_params
        if client is None:  # without a session there is nobody to remember: people would set each other's level
            return EmptyResult()
        self._levels[id(client)] = (client, _LEVELS.index(params.level))  # kept, so that its id stays its own
        self._levels.move_to_end(id(client))
        while len(self._levels) > _MOST_CLIENTS:
            self._levels.popitem(last=False)
        return EmptyResult()

    def wants(self, session: ServerSession, level: str) -> bool:
        """True if this client wants to hear of something of this level."""
        asked = self._levels.get(id(session.client_params))
        return asked is not None and level in _LEVELS and _LEVELS.index(level) >= asked[1]


class _Asked:
    """Questions to a client in the protocol's words, as far as it can be asked; `_ask` brings them to it."""

    def __init__(self, able: ClientCapabilities | None) -> None:
        self._able = able or ClientCapabilities()

    @property
    def can_elicit(self) -> bool:
        found = self._able.elicitation
        return found is not None and (found.form is not None or found.url is None)

    @property
    def can_open_urls(self) -> bool:
        return self._able.elicitation is not None and self._able.elicitation.url is not None

    @property
    def can_sample(self) -> bool:
        return self._able.sampling is not None

    @property
    def can_list_roots(self) -> bool:
        return self._able.roots is not None

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        kind = ElicitRequestURLParams if params.get("mode") == "url" else ElicitRequestFormParams
        return await self._ask(lambda: ElicitRequest(params=kind.model_validate(params)), ElicitResult, key)

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        kind = CreateMessageResultWithTools if params.get("tools") else CreateMessageResult
        return await self._ask(
            lambda: CreateMessageRequest(params=CreateMessageRequestParams.model_validate(params)), kind, key
        )

    async def list_roots(self, *, key: str = "") -> JsonObject:
        return await self._ask(ListRootsRequest, ListRootsResult, key)

    async def _ask(self, build: Callable[[], ServerRequest], kind: type[Result], key: str) -> JsonObject:
        try:
            answer = await self._bring(build(), kind, key)
        except MCPError as error:
            raise FrontError(error.error.message) from error
        except ValidationError as error:
            raise FrontError("what was asked, or what it answered, does not fit the protocol") from error
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _bring(self, request: ServerRequest, kind: type[Result], key: str) -> Result:
        raise NotImplementedError


class ClientFront(_Asked):
    """One request's way back to its client, which has a session."""

    def __init__(self, ctx: Context[State], levels: LogLevels) -> None:
        self._session: ServerSession = ctx.session
        super().__init__(ctx.client_capabilities if self._session.can_send_request else None)
        self._request = ctx.request_id
        self._levels = levels

    @property
    def session(self) -> object:
        return self._session.client_params

    async def log(self, level: str, logger: str, data: Json) -> None:
        if self._levels.wants(self._session, level):
            params = LoggingMessageNotificationParams.model_validate({"level": level, "logger": logger, "data": data})
            await self._session.send_notification(
                LoggingMessageNotification(params=params), related_request_id=self._request
            )

    async def _bring(self, request: ServerRequest, kind: type[Result], key: str) -> Result:
        metadata = ServerMessageMetadata(related_request_id=self._request)
        return await self._session.send_request(request, kind, metadata=metadata)


class SuspendedFront(_Asked):
    """The way back to a sessionless client: `ask` gives its word on a question, of this key, when it has come."""

    def __init__(self, ctx: Context[State], ask: Asking) -> None:
        super().__init__(ctx.client_capabilities)
        self.session: object = ctx.session.client_params
        self._answer_of = ask

    async def log(self, level: str, logger: str, data: Json) -> None:
        """Do nothing: such a client has no way to ask for a level."""

    async def _bring(self, request: ServerRequest, kind: type[Result], key: str) -> Result:
        answer = await self._answer_of(request, key=key)
        if not isinstance(answer, kind):
            raise FrontError("the client answered something else")
        return answer


class PlainFront(_Asked):
    """The way back to a client without a session that can be asked nothing, and told only how far its run is."""

    def __init__(self, client: str, report: Callable[[float, float | None, str | None], Awaitable[None]]) -> None:
        super().__init__(None)
        self.session: object = self
        self.client = client
        self.report = report

    async def log(self, level: str, logger: str, data: Json) -> None:
        """Do nothing: such a client has no way to ask for a level."""


def noting_clients(clients_of: Callable[[Person], KnownClients]) -> ServerMiddleware[State]:
    """Build the middleware that notes what each client says of itself as it comes, before any server is connected."""

    async def note(ctx: ServerRequestContext[State], call_next: CallNext) -> HandlerResult:
        said = (ctx.params or {}) if ctx.method == "initialize" else {}
        if ctx.method == "server/discover":
            said = {"capabilities": (ctx.meta or {}).get(CLIENT_CAPABILITIES_META_KEY)}
        if said.get("capabilities"):
            with suppress(ValidationError):
                clients_of(person_of(ctx)).note(_Asked(ClientCapabilities.model_validate(said["capabilities"])))
        return await call_next(ctx)

    return note


def can_be_asked(capabilities: ClientCapabilities | None) -> bool:
    """True if a client offers anything that a run, or a proxied server, may want of it."""
    able = capabilities or ClientCapabilities()
    return any(offered is not None for offered in (able.elicitation, able.sampling, able.roots))
