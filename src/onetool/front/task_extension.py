"""The extension `io.modelcontextprotocol/tasks` on the SDK: for whatever the front does not answer itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TypeVar

import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from pydantic import Field

from mcp_core.json_types import JsonObject
from onetool.front.commands import Commands
from onetool.front.definition import TASKS
from onetool.front.messages import SESSIONLESS_REVISIONS
from onetool.front.tasks import CANCEL, GET, NO_SUCH_TASK, UPDATE, render_begun
from onetool.people.person_of import person_of
from ot.clients.front import Abilities
from ot.run.answer import TaskNote
from ot.run.task_names import UnknownTaskError

State = TypeVar("State")
_REVISIONS = frozenset(SESSIONLESS_REVISIONS)
_BEGUN: ContextVar[list[TaskNote] | None] = ContextVar("onetool_task", default=None)
"""Takes the task that a call becomes: the SDK wants a result of a tool, and a task is none."""


class TaskParams(mcp_types.RequestParams):
    """The parameters of requests about a task."""

    task_id: str
    input_responses: dict[str, dict[str, object]] = Field(default_factory=dict)


class Tasks(Extension):
    """Answers a call with the task that its run has become, and requests about tasks."""

    identifier = TASKS

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def methods(self) -> Sequence[MethodBinding]:
        return [MethodBinding(method, TaskParams, self._answer, _REVISIONS) for method in (GET, UPDATE, CANCEL)]

    async def intercept_tool_call(
        self, params: mcp_types.CallToolRequestParams, ctx: ServerRequestContext[State], call_next: CallNext
    ) -> HandlerResult:
        begun: list[TaskNote] = []
        token = _BEGUN.set(begun)
        try:
            result = await call_next(ctx)
        finally:
            _BEGUN.reset(token)
        return dict(render_begun(begun[0])) if begun else result

    async def _answer(self, ctx: ServerRequestContext[State], params: TaskParams) -> HandlerResult:
        require_client_extension(ctx, TASKS)
        answers: Mapping[str, JsonObject] = params.model_dump(mode="json")["input_responses"]
        try:
            claimed = ctx.session.client_capabilities
            shows = claimed is not None and Abilities.read(claimed.model_dump(by_alias=True, mode="json")).can_show
            return dict(await self._commands.task(ctx.method, params.task_id, answers, person_of(ctx), shows=shows))
        except UnknownTaskError:
            raise MCPError(mcp_types.INVALID_PARAMS, NO_SUCH_TASK) from None


def note_begun(task: TaskNote) -> None:
    """Let the call that is being answered be answered with a task."""
    if (begun := _BEGUN.get()) is not None:
        begun.append(task)
