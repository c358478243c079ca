"""The client at the front as proxied servers reach it through us: its person, its model, its folders, its log.

Only a client with a session can be asked in the middle of a request; a sessionless one offers none of this here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
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

from mcp_official.questions import is_sessionless
from ot.front import FrontError

_LEVELS: tuple[LoggingLevel, ...] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
_MOST_CLIENTS = 256

Result = TypeVar("Result", bound=BaseModel)


class LogLevels:
    """What each client with a session has asked to hear of; nothing, until it asks."""

    def __init__(self) -> None:
        self._levels: OrderedDict[int, tuple[object, int]] = OrderedDict()

    async def set_level(self, ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
        """Answer `logging/setLevel`."""
        client = ctx.session.client_params
        self._levels[id(client)] = (client, _LEVELS.index(params.level))  # kept, so that its id stays its own
        self._levels.move_to_end(id(client))
        while len(self._levels) > _MOST_CLIENTS:
            self._levels.popitem(last=False)
        return EmptyResult()

    def wants(self, session: ServerSession, level: str) -> bool:
        """Whether this client wants to hear of something of this level."""
        asked = self._levels.get(id(session.client_params))
        return asked is not None and level in _LEVELS and _LEVELS.index(level) >= asked[1]


class ClientFront:
    """One request's way back to its client."""

    def __init__(self, ctx: Context[Any, Any], levels: LogLevels) -> None:
        self._session: ServerSession = ctx.session
        self._request = ctx.request_id
        self._levels = levels
        able = not is_sessionless(ctx) and self._session.can_send_request
        self._able = (ctx.client_capabilities if able else None) or ClientCapabilities()

    @property
    def session(self) -> object:
        return self._session.client_params

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

    async def elicit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        kind = ElicitRequestURLParams if params.get("mode") == "url" else ElicitRequestFormParams
        return await self._ask(lambda: ElicitRequest(params=kind.model_validate(params)), ElicitResult)

    async def sample(self, params: Mapping[str, Any]) -> dict[str, Any]:
        kind = CreateMessageResultWithTools if params.get("tools") else CreateMessageResult
        return await self._ask(
            lambda: CreateMessageRequest(params=CreateMessageRequestParams.model_validate(params)), kind
        )

    async def list_roots(self) -> dict[str, Any]:
        return await self._ask(ListRootsRequest, ListRootsResult)

    async def log(self, level: str, logger: str, data: Any) -> None:
        if self._levels.wants(self._session, level):
            params = LoggingMessageNotificationParams.model_validate({"level": level, "logger": logger, "data": data})
            await self._session.send_notification(
                LoggingMessageNotification(params=params), related_request_id=self._request
            )

    async def _ask(self, build: Any, kind: type[Result]) -> dict[str, Any]:
        try:
            request: ServerRequest = build()
            metadata = ServerMessageMetadata(related_request_id=self._request)
            answer = await self._session.send_request(request, kind, metadata=metadata)
        except MCPError as error:
            raise FrontError(error.error.message) from error
        except ValidationError as error:
            raise FrontError("what was asked, or what it answered, has no form that the protocol knows") from error
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)
