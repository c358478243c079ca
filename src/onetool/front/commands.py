"""Commands of requests that are awaited: over HTTP, and those that the SDK hands over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import field
from typing import TYPE_CHECKING

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from onetool.front.clients import Clients
from onetool.front.late_app import ServedApps
from onetool.replicas.draining import NO_NEW_RUNS, Draining, word_stopped
from ot.clients.caller import ClientMemory, Progress, caller_of
from ot.clients.front import Front
from ot.clients.person import Person
from ot.errors import StoreGoneError
from ot.run.answer import Answer
from ot.run.live_run import new_run_id
from ot.run.waiting_runs import RunState, Waiting, WaitingRuns
from ot.store.owner import StoreUnavailableError
from ot.telemetry.telemetry import is_traced

if TYPE_CHECKING:  # the engine is loaded late, other replicas only with a database
    from onetool.replicas.replicas import AnswersElsewhere
    from ot.app import App
    from ot.run.client_requests import Questions

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
    progress: Progress
    questions: Questions | None = None  # of a client that answers them with its next request


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
        if self.draining.begun and not client.front.sessionless:  # those are answered before, at the gate
            return Answer(NO_NEW_RUNS, is_error=True)
        came, name = asyncio.get_running_loop().time(), new_run_id()

        async def run() -> Answer | Waiting:
            async with self.apps.use(client.person) as app:
                await self._recall(app, client.person)
                caller = caller_of(
                    client.front,
                    memory=client.memory,
                    progress=client.progress,
                    client=client.name,
                    run_id=name,
                    principal=client.person.principal,
                )
                context = copy_context() if is_traced() else None
                begun = app.runs.begin(command, caller, since=came, questions=client.questions, context=context)
                return await self.waiting.follow(begun)

        return await self._carry_out(run, name, client.person.principal)

    async def resume(
        self, state: str, answers: Mapping[str, JsonObject], person: Person, progress: Progress
    ) -> Answer | Waiting:
        """Go on with the run that asked; raises UnknownStateError.

        One that is gone is not started again, since it may have had side effects.
        """
        found, principal = RunState.read(state), person.principal

        async def resume() -> Answer | Waiting:
            if self.elsewhere is not None and found.replica != self.waiting.replica:
                return await self.elsewhere.resume(found, answers, principal=principal, progress=progress)
            return await self.waiting.resume(found, answers, principal=principal, progress=progress)

        return await self._carry_out(resume, found.run, principal)

    async def _carry_out(
        self, work: Callable[[], Awaitable[Answer | Waiting]], name: str, principal: str
    ) -> Answer | Waiting:
        """Await a run for a request; the store, or the end of this server, may come in between."""
        with self.draining.running():
            try:
                outcome = await work()
                await self.clients.save(principal)
            except StoreGoneError as error:
                return Answer(_word(error), is_error=True)
            except StoreUnavailableError as error:
                return Answer(STORE_GONE.format(error.strerror), is_error=True)
            return outcome
        return Answer(word_stopped(name), is_error=True)

    async def _recall(self, app: App, person: Person) -> None:
        """Learn what the client has done at other replicas, where rules depend on that; raises StoreGoneError."""
        if app.config.policy.ask or app.config.policy.flows:
            try:
                await self.clients.recall(person.principal)
            except StoreUnavailableError as error:
                raise StoreGoneError(error.strerror or str(error)) from error


def _word(error: StoreGoneError) -> str:
    from ot.execution.wording import word_error  # noqa: PLC0415 - a part of the engine, which is loaded late

    return word_error(error)
