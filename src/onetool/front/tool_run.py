"""The tools `run` and `look` as the SDK calls them: for whatever the front does not answer itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from mcp_core import ToolArguments
from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from mcp_official import is_sessionless
from onetool.front.commands import Client, Commands
from onetool.front.messages import LEVELS
from onetool.front.rendering import ProgressReport, render_answer
from onetool.front.task_extension import note_begun
from onetool.front.tasks import takes_tasks
from onetool.people.person_of import person_of
from ot.clients.caller import ClientMemory
from ot.clients.front import Abilities, Front, FrontError
from ot.run.answer import Answer
from ot.run.client_requests import Questions
from ot.run.waiting_runs import LostRunError, UnknownStateError, Waiting
from ot.store.owner import word_unreachable

State = TypeVar("State")
Rendered: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult
_Request: TypeAlias = mcp_types.ElicitRequest | mcp_types.CreateMessageRequest | mcp_types.ListRootsRequest

_MOST_CLIENTS = 256
_REQUESTS: TypeAdapter[_Request] = TypeAdapter(_Request)
NO_SUCH_RUN = "Invalid or expired requestState: no run waits for this answer. Call run again to begin a new one."
RUN_LOST = (
    "Invalid or expired requestState: run {0} ended with the server in which it waited for this answer. "
    'Its own code, begun with ot.resume(run="{0}"), goes on from what it had done.'
)


class LogLevels:
    """The log level of each client with a session; a client hears of nothing until it asks."""

    def __init__(self) -> None:
        self._levels: OrderedDict[int, tuple[object, int]] = OrderedDict()

    async def set_level(
        self, ctx: ServerRequestContext[State], params: mcp_types.SetLevelRequestParams
    ) -> mcp_types.EmptyResult:
        client = ctx.session.client_params
        if client is None:  # without a session there is nobody to remember: people would set each other's level
            return mcp_types.EmptyResult()
        self._levels[id(client)] = (client, LEVELS.index(params.level))  # kept, so that its id stays its own
        self._levels.move_to_end(id(client))
        while len(self._levels) > _MOST_CLIENTS:
            self._levels.popitem(last=False)
        return mcp_types.EmptyResult()

    def wants(self, session: ServerSession, level: str) -> bool:
        asked = self._levels.get(id(session.client_params))
        return asked is not None and level in LEVELS and LEVELS.index(level) >= asked[1]


class RunArguments(ToolArguments):
    """The arguments of `run`."""

    command: str = Field(description="Python code")


class LookArguments(RunArguments):
    """The arguments of `look`."""


@dataclass(frozen=True, slots=True)
class ServerState:
    commands: Commands
    log_levels: LogLevels


@ToolArguments.declare
async def run(args: RunArguments, ctx: Context[ServerState]) -> Rendered:
    """Execute Python; the value of its last expression is the answer, after anything printed.

    Tools are grouped in packs and called with keywords: `proj.path(name="site")`. `ot.help(query="send a mail")` finds
    the right ones with their signatures, `ot.packs()` lists packs, `ot.tools(pattern="proj")` tools. Calls compose:
    loop, filter, `ot.parallel(...)`, and return only what you need. Each run starts fresh, in a sandbox: files, network
    and programs are reached through packs only.
    """
    return await _carry_out(args.command, ctx, looks=False)


@ToolArguments.declare
async def look(args: LookArguments, ctx: Context[ServerState]) -> Rendered:
    """Like `run`, but only to read: calls that may change something are refused, and `run` makes them."""
    return await _carry_out(args.command, ctx, looks=True)


async def _carry_out(command: str, ctx: Context[ServerState], *, looks: bool) -> Rendered:
    commands = ctx.request_context.lifespan_context.commands

    async def begin(client: Client) -> Answer | Waiting:
        return await commands.run(command, replace(client, looks=looks, takes_tasks=_takes_tasks(ctx)))

    outcome = await follow(ctx, begin)
    if isinstance(outcome, Answer) and outcome.task is not None and _takes_tasks(ctx):
        note_begun(outcome.task)  # the call is answered with the task that its run goes on as
    return render(outcome, ctx.protocol_version)


def _takes_tasks(ctx: Context[ServerState]) -> bool:
    claimed = ctx.client_capabilities
    return is_sessionless(ctx) and takes_tasks(None if claimed is None else _plain(claimed))


async def follow(ctx: Context[ServerState], begin: Callable[[Client], Awaitable[Answer | Waiting]]) -> Answer | Waiting:
    """Begin what a request asks for, or go on with what waits for the answers that it brings."""
    state = ctx.request_context.lifespan_context
    if not is_sessionless(ctx) or (ctx.request_state is None and ctx.input_responses is None):
        return await begin(_client_of(ctx, state))
    answers = {key: _plain(answer) for key, answer in (ctx.input_responses or {}).items()}
    try:
        progress = ProgressReport(ctx.report_progress)
        return await state.commands.resume(ctx.request_state or "", answers, person_of(ctx), progress)
    except LostRunError as error:
        if error.seconds:  # it may be back by then
            told = (
                f"Run {error.run} waits for this answer, and {word_unreachable(error.seconds)}, with the same answer."
            )
            raise MCPError(mcp_types.INTERNAL_ERROR, told) from None
        raise MCPError(mcp_types.INVALID_PARAMS, RUN_LOST.format(error.run)) from None
    except UnknownStateError:
        raise MCPError(mcp_types.INVALID_PARAMS, NO_SUCH_RUN) from None


def _client_of(ctx: Context[ServerState], state: ServerState) -> Client:
    memory, params, sessionless = state.commands.clients.memory_of(ctx), ctx.session.client_params, is_sessionless(ctx)
    able = Abilities.read(None if ctx.client_capabilities is None else _plain(ctx.client_capabilities))
    questions = Questions() if sessionless and able.any else None
    if questions is not None:
        front = Front(object(), able, questions.ask, sessionless=True)
    elif sessionless or not ctx.session.can_send_request:
        front = Front(object(), Abilities(can_show=able.can_show), sessionless=sessionless)
    else:
        front = _session_front(ctx, able, memory, state.log_levels)
    name = params.client_info.name if params is not None else ""
    return Client(person_of(ctx), name, memory, front, ProgressReport(ctx.report_progress), questions)


def _session_front(ctx: Context[ServerState], able: Abilities, memory: ClientMemory, levels: LogLevels) -> Front:
    """Return the way back to a client with a session, which is asked in the middle of its request."""
    session, related = ctx.session, ctx.request_id

    async def request(method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        try:
            asked = _REQUESTS.validate_python({"method": method, "params": dict(params)})
            kind = _kind_of(asked)
            return _plain(await session.send_request(asked, kind, metadata=ServerMessageMetadata(related)))
        except MCPError as error:
            raise FrontError(error.error.message) from error
        except ValidationError as error:
            raise FrontError("what was asked, or what it answered, does not fit the protocol") from error

    async def log(level: str, logger: str, data: Json) -> None:
        if levels.wants(session, level):
            params = mcp_types.LoggingMessageNotificationParams.model_validate(
                {"level": level, "logger": logger, "data": data}
            )
            await session.send_notification(
                mcp_types.LoggingMessageNotification(params=params), related_request_id=related
            )

    return Front(memory, able, request, log)


def _kind_of(request: _Request) -> type[BaseModel]:
    match request:
        case mcp_types.ElicitRequest():
            return mcp_types.ElicitResult
        case mcp_types.CreateMessageRequest():
            return mcp_types.CreateMessageResultWithTools if request.params.tools else mcp_types.CreateMessageResult
        case mcp_types.ListRootsRequest():
            return mcp_types.ListRootsResult


def _plain(model: BaseModel) -> JsonObject:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def render(outcome: Answer | Waiting, revision: str | None = None) -> Rendered:
    """Put what has come of a run into the SDK's types."""
    if isinstance(outcome, Answer):
        return mcp_types.CallToolResult.model_validate(render_answer(outcome, revision or ""))
    return input_required(outcome)


def input_required(outcome: Waiting) -> mcp_types.InputRequiredResult:
    """Return the questions of something that waits, as the answer to its request."""
    requests = {key: _REQUESTS.validate_python(question) for key, question in outcome.questions.items()}
    return mcp_types.InputRequiredResult(input_requests=requests, request_state=outcome.state)
