"""The one tool: `run`, Python in and an answer out."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from mcp_core import ToolArguments
from mcp_core.quick_dataclass import dataclass
from mcp_official import can_ask, is_sessionless
from onetool.front.asking import asking_between, asking_within
from onetool.front.client_front import ClientFront, LogLevels, PlainFront, SuspendedFront, can_be_asked
from onetool.front.clients import Clients
from onetool.front.direct_runs import DirectRuns
from onetool.front.early_runs import UNNAMED_CLIENT
from onetool.front.late_app import ServedApps
from onetool.front.progress_report import ProgressReport
from onetool.front.suspended_runs import LostRunError, RunClient, RunState, SuspendedRuns, UnknownRunError, Waiting
from onetool.people.person_of import person_of
from onetool.replicas.draining import NO_NEW_RUNS, Draining, word_stopped
from ot.clients.caller import Caller
from ot.clients.person import Person
from ot.errors import StoreGoneError
from ot.run.answer import Answer
from ot.run.run_id import new_run_id
from ot.store.unavailable import StoreUnavailableError
from ot.text.output import escape_surrogates
from ot_kernel.values import Audio, Image, Resource

if TYPE_CHECKING:  # the engine is loaded late, other replicas only with a database
    from onetool.replicas.answers import AnswersElsewhere
    from ot.app import App

Told = TypeVar("Told")

NO_SUCH_RUN = "Invalid or expired requestState: no run waits for this answer. Call run again to begin a new one."
STORE_GONE = (
    "The store of this server could not be reached: {0}. What became of the run is in ot.runs() once it is back; "
    "try again in a moment."
)
RUN_LOST = (
    "Invalid or expired requestState: run {0} ended with the server in which it waited for this answer. "
    'Code that begins with ot.resume(run="{0}") goes on from what it had done.'
)


class RunArguments(ToolArguments):
    """The arguments of `run`."""

    command: str = Field(description="Python code")


@dataclass(frozen=True, slots=True)
class ServerState:
    """The parts that the server hands to its tools."""

    apps: ServedApps
    suspended: SuspendedRuns
    log_levels: LogLevels = field(default_factory=LogLevels)
    clients: Clients = field(default_factory=Clients)
    draining: Draining = field(default_factory=Draining)
    elsewhere: AnswersElsewhere | None = None  # runs that wait in other replicas
    direct: DirectRuns | None = None  # runs that need no handler, and those that began before there was one


@ToolArguments.declare
async def run(args: RunArguments, ctx: Context[ServerState]) -> CallToolResult | InputRequiredResult:
    """Execute Python; the value of its last expression is the answer, after anything printed.

    Tools are grouped in packs and called with keywords: `proj.path(name="site")`. `ot.help(query="send a mail")` finds
    the right ones with their signatures, `ot.packs()` lists packs, `ot.tools(pattern="proj")` tools. Calls compose:
    loop, filter, `ot.parallel(...)`, and return only what you need. Each run starts fresh, in a sandbox: files, network
    and programs are reached through packs only.
    """
    came = asyncio.get_running_loop().time()
    service = ctx.request_context.lifespan_context
    name = _waiting_run(ctx) or new_run_id()
    if service.draining.begun and not is_sessionless(ctx):
        return render_result(Answer(NO_NEW_RUNS, is_error=True))
    work = _run(service, args.command, ctx, came, name)
    return await _carry_out(service, work, render_result, name=name, principal=person_of(ctx).principal)


async def run_plainly(service: ServerState, command: str, front: PlainFront, person: Person) -> Answer:
    """Run a command for a client without a session that can be asked nothing."""
    came, name = asyncio.get_running_loop().time(), new_run_id()
    caller = Caller(
        progress=ProgressReport(front.report),
        front=front,
        memory=service.clients.shared(person.principal),
        client=front.client or UNNAMED_CLIENT,
        run_id=name,
        principal=person.principal,
    )
    work = _run_in_app(service, command, caller, came, person)
    return await _carry_out(service, work, lambda refusal: refusal, name=name, principal=person.principal)


async def _carry_out(
    service: ServerState, work: Awaitable[Told], told: Callable[[Answer], Told], *, name: str, principal: str
) -> Told:
    """Await a run for a request; the store, or the end of this server, may come in between."""
    with service.draining.running():
        try:
            result = await work
            await service.clients.save(principal)
        except StoreGoneError as error:
            return told(Answer(_word(error), is_error=True))
        except StoreUnavailableError as error:
            return told(Answer(STORE_GONE.format(error.strerror), is_error=True))
        return result
    return told(Answer(word_stopped(name), is_error=True))


def _waiting_run(ctx: Context[ServerState]) -> str:
    """Return the name of the run for which a request brings an answer."""
    try:
        return RunState.read(ctx.request_state or "").run
    except UnknownRunError:
        return ""


async def _run(
    service: ServerState, command: str, ctx: Context[ServerState], came: float, name: str
) -> CallToolResult | InputRequiredResult:
    progress, person = ProgressReport(ctx.report_progress), person_of(ctx)
    if is_sessionless(ctx):
        if ctx.request_state is not None or ctx.input_responses is not None:
            return await _resume(service, ctx, progress)
        if can_be_asked(ctx.client_capabilities):
            work = partial(_work_in_turns, service, command, ctx, came)
            begun = service.suspended.start(work, name=name, principal=person.principal, progress=progress)
            return render(await begun)
    ask = asking_within(ctx) if can_ask(ctx) else None
    front = ClientFront(ctx, service.log_levels)
    if service.direct is not None and (joined := service.direct.take(ctx.request_id)) is not None:
        return render_result(await joined.join(ask, front, ctx.report_progress))
    memory = service.clients.memory_of(ctx)
    if service.direct is not None and not is_sessionless(ctx):
        service.direct.know(memory, front.session)
    caller = Caller(
        progress=progress,
        ask=ask,
        front=front,
        memory=memory,
        client=_name_client(ctx),
        run_id=name,
        principal=person.principal,
    )
    return render_result(await _run_in_app(service, command, caller, came, person))


async def _run_in_app(service: ServerState, command: str, caller: Caller, came: float, person: Person) -> Answer:
    async with service.apps.use(person) as app:
        await _recall(service, app, person)
        return await app.runs.run(command, caller=caller, since=came)


async def _recall(service: ServerState, app: App, person: Person) -> None:
    """Learn what the client has done at other replicas, where rules depend on that; raises StoreGoneError."""
    if app.config.policy.ask or app.config.policy.flows:
        try:
            await service.clients.recall(person.principal)
        except StoreUnavailableError as error:
            raise StoreGoneError(error.strerror or str(error)) from error


def _word(error: StoreGoneError) -> str:
    from ot.execution.wording import word_error  # noqa: PLC0415 - a part of the engine, which is loaded late

    return word_error(error)


async def _work_in_turns(
    service: ServerState, command: str, ctx: Context[ServerState], came: float, client: RunClient
) -> Answer:
    """Run a command for a client that is asked between two of its requests."""
    ask = asking_between(client.ask) if can_ask(ctx) else None
    front = SuspendedFront(ctx, client.ask)
    memory = service.clients.memory_of(ctx)
    person = person_of(ctx)
    caller = Caller(
        progress=client.progress,
        ask=ask,
        front=front,
        memory=memory,
        client=_name_client(ctx),
        run_id=client.run,
        principal=person.principal,
    )
    async with service.apps.use(person) as app:
        await _recall(service, app, person)
        return await app.runs.run(command, caller=caller, since=came, asked_between=True)


def _name_client(ctx: Context[ServerState]) -> str:
    """Return the name that the client gives itself, in either protocol era; it need not give one."""
    params = ctx.session.client_params
    return (params.client_info.name if params is not None else "") or UNNAMED_CLIENT


async def _resume(
    service: ServerState, ctx: Context[ServerState], progress: ProgressReport
) -> CallToolResult | InputRequiredResult:
    """Go on with the run that asked; one that is gone is not started again, since it may have had effects."""
    try:
        state, words = RunState.read(ctx.request_state or ""), ctx.input_responses or {}
        principal = person_of(ctx).principal
        if service.elsewhere is not None and state.replica != service.suspended.replica:
            return await service.elsewhere.resume(state, words, principal=principal, progress=progress)
        return render(await service.suspended.resume(state, words, principal=principal, progress=progress))
    except LostRunError as error:
        raise MCPError(INVALID_PARAMS, RUN_LOST.format(error.run)) from None
    except UnknownRunError:
        raise MCPError(INVALID_PARAMS, NO_SUCH_RUN) from None


def render(outcome: Answer | Waiting) -> CallToolResult | InputRequiredResult:
    """Put what has come of a run into the form of the protocol."""
    if isinstance(outcome, Answer):
        return render_result(outcome)
    return InputRequiredResult(input_requests={**outcome.questions}, request_state=str(outcome.state))


def render_result(answer: Answer) -> CallToolResult:
    """Put an answer into the form of the protocol."""
    content: list[ContentBlock] = [_render_attachment(item) for item in answer.attachments]
    if answer.text or not content:
        content.insert(0, TextContent(text=escape_surrogates(answer.text)))
    return CallToolResult(content=content, is_error=answer.is_error)


def _render_attachment(item: Any) -> ContentBlock:
    match item:
        case Image():
            return ImageContent(data=_base64(item.data), mime_type=item.mime_type)
        case Audio():
            return AudioContent(data=_base64(item.data), mime_type=item.mime_type)
        case Resource(data=bytes(data)):
            blob = BlobResourceContents(uri=item.uri, blob=_base64(data), mime_type=item.mime_type)
            return EmbeddedResource(resource=blob)
        case Resource(text=str(text)):
            contents = TextResourceContents(uri=item.uri, text=escape_surrogates(text), mime_type=item.mime_type)
            return EmbeddedResource(resource=contents)
        case Resource():
            return ResourceLink(uri=item.uri, name=item.name or item.uri, mime_type=item.mime_type)
    raise TypeError(f"not an attachment: {type(item).__name__}")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
