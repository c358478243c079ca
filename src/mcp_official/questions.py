"""The official SDK as a server library: replies, and questions to a person in both eras of the protocol."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import mcp_types
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

from mcp_core import Answer, ToolReply, Unanswered
from mcp_core.json_types import Json

State = TypeVar("State")
_SESSIONLESS = "2026-07-28"  # from this version on a server cannot ask in the middle of a request
ANSWER_WITHIN = 600.0  # seconds
_KEY = "consent"
_MOST_OPEN = 1000


class Agreement(BaseModel):
    """The form that a person fills in."""

    agree: bool = Field(description="Let this call go ahead")


def is_sessionless(context: Context[State]) -> bool:
    """True if a question to this client must be the answer to its request."""
    version = context.protocol_version
    return version is not None and is_version_at_least(version, _SESSIONLESS)


def read_response(response: object) -> bool:
    if not isinstance(response, mcp_types.ElicitResult) or response.action != "accept":
        return False
    try:
        return Agreement.model_validate(response.content).agree
    except ValidationError:
        return False


class OfficialLibrary:
    """Replies, arguments and questions in the types of the official SDK; one for each server.

    A sessionless client is answered with the question and calls again with the answer. The SDK seals the state that
    travels with it and ties it to the tool and its arguments; that it counts once is seen to here.
    """

    context_type = Context

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, tuple[str, float]] = {}  # by state: the question, and until when it may be answered

    def find_arguments(self, context: Context[State]) -> Mapping[str, Json] | None:
        try:
            params = context.request_context.params
        except ValueError:  # called by this process itself, outside of any request
            return None
        arguments = params.get("arguments") if params is not None else None
        return arguments if isinstance(arguments, Mapping) else {}

    def build_reply(self, reply: ToolReply) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult.model_validate(reply)

    def reply_type(self, value: object) -> object:
        return Annotated[mcp_types.CallToolResult, value]

    async def ask(self, context: Context[State], question: str) -> Answer | Unanswered:
        capabilities, sessionless = context.client_capabilities, is_sessionless(context)
        elicitation = capabilities.elicitation if capabilities else None
        if elicitation is None or (elicitation.form is None and elicitation.url is not None):
            return Answer.NOBODY  # it cannot show a form
        if not sessionless and not context.session.can_send_request:
            return Answer.NOBODY
        if not sessionless:
            try:
                answer = await context.elicit(question, Agreement)
            except (MCPError, ValueError):  # the client refused the question, or answered something else
                return Answer.NO
            agreed = answer.action == "accept" and answer.data.agree
        elif context.request_state is None:
            return Unanswered(self._put(question))
        else:
            asked, until = self._open.pop(context.request_state, ("", 0.0))
            if asked != question or self._clock() > until:
                reason = "This question was answered already, or it is too late: call again without it"
                raise MCPError(mcp_types.INVALID_PARAMS, reason)
            agreed = read_response((context.input_responses or {}).get(_KEY))
        return Answer.YES if agreed else Answer.NO

    def _put(self, question: str) -> mcp_types.InputRequiredResult:
        now = self._clock()
        self._open = {state: asked for state, asked in self._open.items() if asked[1] > now}
        while len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        state = secrets.token_urlsafe(16)
        self._open[state] = (question, now + ANSWER_WITHIN)
        schema = render_elicitation_schema(Agreement)
        form = mcp_types.ElicitRequestFormParams(message=question, requested_schema=schema)
        request = mcp_types.ElicitRequest(params=form)
        return mcp_types.InputRequiredResult(input_requests={_KEY: request}, request_state=state)
