"""Commands of requests that are awaited, over HTTP or from the SDK; and what is remembered of those who send them."""

from __future__ import annotations

import asyncio
import itertools
import time
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextvars import Context as Variables
from contextvars import copy_context
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from mcp.server.mcpserver import Context

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from mcp_official import is_sessionless
from onetool.front.late_app import ServedApps
from onetool.front.messages import SESSIONLESS_REVISIONS
from onetool.front.rendering import ProgressReport
from onetool.front.tasks import CANCEL, UPDATE, render_state
from onetool.people.person_of import person_of
from onetool.replicas.draining import NO_NEW_RUNS, Draining, word_stopped
from ot.clients.caller import IDLE, STOPPED, Caller, ClientMemory, caller_of
from ot.clients.front import Abilities, Front
from ot.clients.person import Person
from ot.errors import StoreGoneError
from ot.run.answer import Answer
from ot.run.live_run import new_run_id
from ot.run.task_names import UnknownTaskError
from ot.run.view_handles import UnknownHandleError
from ot.run.waiting_runs import RunState, Waiting, WaitingRuns
from ot.store.owner import StoreUnavailableError
from ot.store.replicas import RememberedClient
from ot.telemetry.telemetry import is_traced

if TYPE_CHECKING:
    from onetool.replicas.replicas import AnswersElsewhere
    from ot.app import App
    from ot.run.client_requests import Questions
    from ot.run.live_run import LiveRun
    from ot.run.uses import Use

State = TypeVar("State")


@dataclass(slots=True)
class _Sessionless:
    memory: ClientMemory
    last_seen: float = 0.0
    saved: RememberedClient = field(default_factory=RememberedClient)


class RememberedClients(Protocol):
    """The common knowledge of replicas about people's clients without a session."""

    async def recall(self, principal: str) -> RememberedClient: ...
    async def remember(self, principal: str, client: RememberedClient, forget: Collection[str] = ()) -> None: ...


@dataclass(slots=True)
class Clients:
    """A client is a connection; all sessionless requests of a person are one, which is forgotten after an idle hour.

    `known` is what other replicas know of the latter. `first` is the memory of the first client, if that has done
    something before this came to be.
    """

    known: RememberedClients | None = None
    first: ClientMemory | None = None
    clock: Callable[[], float] = time.monotonic
    _connected: dict[int, ClientMemory] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _sessionless: dict[str, _Sessionless] = field(default_factory=dict)  # by principal

    def memory_of(self, ctx: Context[State]) -> ClientMemory:
        """Return what is remembered of the client behind a request."""
        connection = ctx.session.client_params  # made by its handshake, and gone with the connection
        if connection is None or is_sessionless(ctx):
            return self.shared(person_of(ctx).principal)
        memory = self._connected.get(id(connection))
        if memory is None:
            number = next(self._numbers)
            memory = self._connected[id(connection)] = self._take_first() or ClientMemory(number)
            weakref.finalize(connection, self._connected.pop, id(connection), None)
        return memory

    def shared(self, principal: str) -> ClientMemory:
        """Return what is remembered of a person's clients without a session."""
        now = self.clock()
        known = self._sessionless.get(principal)
        if known is None or now - known.last_seen > IDLE:
            self._sessionless = {who: each for who, each in self._sessionless.items() if now - each.last_seen <= IDLE}
            known = self._sessionless[principal] = _Sessionless(self._take_first() or ClientMemory())
        known.last_seen = now
        return known.memory

    async def recall(self, principal: str) -> None:
        """Learn what a person's client without a session has done elsewhere; raises OSError."""
        client = self._sessionless.get(principal)
        if self.known is not None and client is not None:
            known = client.saved = await self.known.recall(principal)
            stopped = {name for name in known.read if name[0] == STOPPED}
            client.memory.note(known.read - stopped)
            client.memory.stopped = {name[1:] for name in stopped}
            client.memory.agreed |= known.agreed

    async def save(self, principal: str) -> None:
        """Let other replicas know what is new of a person's client, before it has the answer; raises OSError."""
        client = self._sessionless.get(principal)
        if self.known is not None and client is not None:
            memory = client.memory
            stopped = frozenset(f"{STOPPED}{rule}" for rule in memory.stopped)
            now = RememberedClient(stopped.union(memory.read), frozenset(memory.agreed))
            if now.read != client.saved.read or now.agreed - client.saved.agreed:
                await self.known.remember(principal, now, forget=client.saved.read - now.read)
                client.saved = now

    def _take_first(self) -> ClientMemory | None:
        first, self.first = self.first, None
        return first


STORE_GONE = (
    "The store of this server could not be reached: {0}. What became of the run is in ot.runs() once it is back; "
    "try again in a moment."
)


@dataclass(frozen=True, slots=True)
class Client:
    """Who sends a command, and how to reach them while they wait for its answer."""

    person: Person
    name: str
    memory: ClientMemory
    front: Front
    progress: ProgressReport
    questions: Questions | None = None  # of a client that answers them with its next request
    looks: bool = False  # the command may only read
    takes_tasks: bool = False  # where its patience ends


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a view, as it came."""

    handle: str
    ask: str
    options: JsonObject


@dataclass(frozen=True, slots=True)
class Commands:
    """The way of a command to the engine of its person, and of an answer to the run that waits for it."""

    apps: ServedApps
    clients: Clients = field(default_factory=Clients)
    draining: Draining = field(default_factory=Draining)
    waiting: WaitingRuns = field(default_factory=WaitingRuns)
    elsewhere: AnswersElsewhere | None = None  # runs that wait in other replicas

    async def run(self, command: str, client: Client) -> Answer | Waiting:
        """Run a command: its answer, or its questions; raises what went wrong."""
        came = asyncio.get_running_loop().time()

        def begin(app: App, caller: Caller, context: Variables | None) -> LiveRun:
            asked, takes = client.questions, client.takes_tasks
            return app.runs.begin(command, caller, since=came, questions=asked, context=context, takes_task=takes)

        return await self._begin(begin, client)

    async def use(self, use: Use, client: Client) -> Answer | Waiting:
        """Use what a server has beside tools; the result is in the text of the answer (`ot.run.uses`)."""

        def begin(app: App, caller: Caller, context: Variables | None) -> LiveRun:
            work = partial(use.make, app.executor, app.servers)
            return app.runs.begin_use(work, caller, questions=client.questions, context=context)

        return await self._begin(begin, client)

    async def view(self, asked: Asked, client: Client) -> Answer | Waiting:
        """Do what the view of an answer asks for; raises UnknownHandleError, and OSError."""
        from ot.run.view_requests import ViewParts, ViewRequest, word_apply  # noqa: PLC0415 - few clients show views

        async with self.apps.use(client.person) as app:
            caller = caller_of(
                client.front, memory=client.memory, client=client.name, principal=client.person.principal
            )
            if app.runner.handles is None:
                raise UnknownHandleError
            grant = await app.runner.handles.read(asked.handle, caller)
        if asked.ask == "apply" and (command := word_apply(grant, asked.options)):
            return await self.run(command, client)
        request = ViewRequest(asked.ask, grant, asked.options)

        def begin(app: App, caller: Caller, context: Variables | None) -> LiveRun:
            work = partial(request.make, ViewParts(app.executor, app.servers, app.runs))
            return app.runs.begin_use(work, caller, questions=client.questions, context=context)

        return await self._begin(begin, client)

    async def _begin(
        self, begin: Callable[[App, Caller, Variables | None], LiveRun], client: Client
    ) -> Answer | Waiting:
        if self.draining.begun and not client.front.sessionless:  # those are answered before, at the gate
            return Answer(NO_NEW_RUNS, is_error=True)
        name = new_run_id()

        async def run() -> Answer | Waiting:
            async with self.apps.use(client.person) as app:
                if app.config.policy.ask or app.config.policy.flows:  # which depend on what it has done elsewhere
                    try:
                        await self.clients.recall(client.person.principal)
                    except StoreUnavailableError as error:
                        raise StoreGoneError(error.strerror or str(error)) from error
                caller = caller_of(
                    client.front,
                    memory=client.memory,
                    progress=client.progress,
                    client=client.name,
                    run_id=name,
                    looks=client.looks,
                    principal=client.person.principal,
                )
                context = copy_context() if is_traced() else None
                return await self.waiting.follow(begin(app, caller, context))

        outcome = await self._carry_out(run, name, client.person.principal)
        return client.progress.kept_in(outcome)

    async def resume(
        self, state: str, answers: Mapping[str, JsonObject], person: Person, progress: ProgressReport
    ) -> Answer | Waiting:
        """Go on with the run that asked; one that is gone is not started again. Raises UnknownStateError."""
        found, principal = RunState.read(progress.take_from(state)), person.principal

        async def resume() -> Answer | Waiting:
            if self.elsewhere is not None and found.replica != self.waiting.replica:
                return await self.elsewhere.resume(found, answers, principal=principal, progress=progress)
            return await self.waiting.resume(found, answers, principal=principal, progress=progress)

        return progress.kept_in(await self._carry_out(resume, found.run, principal))

    async def task(
        self, method: str, task: str, answers: Mapping[str, JsonObject], person: Person, *, shows: bool
    ) -> JsonObject:
        """Answer a request about a task, of a client that `shows` views; raises UnknownTaskError, and OSError."""
        from ot.run.run_tasks import RunTasks  # noqa: PLC0415 - most clients take no tasks

        memory = self.clients.shared(person.principal)
        front = Front(None, Abilities(can_show=shows), sessionless=True)
        caller = caller_of(front, memory=memory, principal=person.principal)
        async with self.apps.use(person) as app:
            names = app.runs.task_names
            if names is None:
                raise UnknownTaskError
            tasks = RunTasks(app.runs, names, app.journal, lambda: app.runner.settings.timeout)
            if method == CANCEL:
                await tasks.cancel(task, caller)
                return {"resultType": "complete"}
            state = await tasks.get(task, caller, answers if method == UPDATE else {})
        await self.clients.save(person.principal)
        return {"resultType": "complete"} if method == UPDATE else render_state(state, SESSIONLESS_REVISIONS[-1])

    async def _carry_out(
        self, work: Callable[[], Awaitable[Answer | Waiting]], name: str, principal: str
    ) -> Answer | Waiting:
        """Await a run for a request; the store, or the end of this server, may come in between."""
        with self.draining.running():
            try:
                outcome = await work()
                await self.clients.save(principal)
            except StoreGoneError as error:
                from ot.execution.wording import word_error  # noqa: PLC0415 - a part of the engine, loaded late

                return Answer(word_error(error), is_error=True)
            except StoreUnavailableError as error:
                return Answer(STORE_GONE.format(error.strerror), is_error=True)
            return outcome
        return Answer(word_stopped(name), is_error=True)
