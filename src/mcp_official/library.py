"""The official SDK as a server library of `mcp_core`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequiredResult

from mcp_core import Answer, ToolReply, Unanswered
from mcp_core.json_types import Json
from mcp_official.questions import ask_within, build_request, can_ask, is_sessionless, read_response

State = TypeVar("State")

ANSWER_WITHIN = 600.0  # seconds
_KEY = "consent"
_MOST_OPEN = 1000


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

    def build_reply(self, reply: ToolReply) -> CallToolResult:
        return CallToolResult.model_validate(reply)

    def reply_type(self, value: object) -> object:
        return Annotated[CallToolResult, value]

    async def ask(self, context: Context[State], question: str) -> Answer | Unanswered:
        if not can_ask(context):
            return Answer.NOBODY
        if not is_sessionless(context):
            agreed = await ask_within(context, question)
        elif context.request_state is None:
            return Unanswered(self._put(question))
        else:
            self._redeem(context.request_state, question)
            agreed = read_response((context.input_responses or {}).get(_KEY))
        return Answer.YES if agreed else Answer.NO

    def _put(self, question: str) -> InputRequiredResult:
        now = self._clock()
        self._open = {state: asked for state, asked in self._open.items() if asked[1] > now}
        while len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        state = secrets.token_urlsafe(16)
        self._open[state] = (question, now + ANSWER_WITHIN)
        return InputRequiredResult(input_requests={_KEY: build_request(question)}, request_state=state)

    def _redeem(self, state: str, question: str) -> None:
        asked, until = self._open.pop(state, ("", 0.0))
        if asked != question or self._clock() > until:
            raise MCPError(
                INVALID_PARAMS, "This question was answered already, or it is too late: call again without it"
            )
