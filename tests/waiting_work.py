"""Runs that wait between two requests, whose work is a coroutine of the test instead of code in a kernel."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.caller import NOBODY, Caller, Progress
from ot.clients.front import ELICIT, Abilities, Front
from ot.run.answer import Answer
from ot.run.client_requests import Questions
from ot.run.live_run import LiveRun
from ot.run.patience import Patience
from ot.run.waiting_runs import RunState, Waiting, WaitingRuns

Work = Callable[[Caller], Awaitable[Answer]]


class Runs:
    """Runs whose work is a coroutine of the test, and the client that waits for them."""

    def __init__(self, tasks: TaskGroup, patience: float, replica: str) -> None:
        self._tasks = tasks
        self.waiting = WaitingRuns(replica, patience=patience)

    async def start(
        self, work: Work, *, principal: str = "local", progress: Progress | None = None
    ) -> Answer | Waiting:
        questions = Questions()
        front = Front(object(), Abilities(can_elicit=True), questions.ask, sessionless=True)
        caller = replace(NOBODY, front=front, progress=progress, principal=principal)
        run = LiveRun(caller, None, patience=Patience(math.inf, renewed=True), limit=60, hold=60)
        run.ask_between(questions)
        self._tasks.start_soon(self._carry_out, run, work)
        return await self.waiting.follow(run)

    async def _carry_out(self, run: LiveRun, work: Work) -> None:
        try:
            with run.scope:
                run.outcome = await work(run.make_caller())
        except Exception as error:  # noqa: BLE001 - it belongs to the request
            run.outcome = error
        finally:
            run.end()
            run.deliver(run.outcome)

    async def resume(
        self, state: str, words: dict[str, JsonObject], *, principal: str = "local", progress: Progress | None = None
    ) -> Answer | Waiting:
        return await self.waiting.resume(RunState.read(state), words, principal=principal, progress=progress)


@asynccontextmanager
async def open_waiting_runs(patience: float = 600.0, replica: str = "") -> AsyncIterator[Runs]:
    async with anyio.create_task_group() as tasks:
        yield Runs(tasks, patience, replica)
        tasks.cancel_scope.cancel()


async def ask(caller: Caller, question: str, key: str = "") -> object:
    assert caller.front is not None
    return (await caller.front.request(ELICIT, {"message": question}, key))["word"]
