"""Runs that begin before the protocol is loaded: the engine needs nothing of it, and the porch says how they went.

What only the server's session can do, asking the person and showing more than text, waits for it: the handler of the
run's request joins the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from mcp_core.json_types import Json, JsonObject
from onetool.front.late_app import LateApp
from onetool.front.progress_report import ProgressReport
from onetool.porch.early_run import EarlyRun
from onetool.porch.porch import Porch
from ot.clients.caller import Ask, Caller, Choice
from ot.clients.front import Front
from ot.clients.memory import ClientMemory
from ot.clients.person import LOCAL
from ot.run.answer import Answer
from ot.run.run_id import new_run_id
from ot.tasks.owned_tasks import OwnedTasks, scope_kind
from ot.text.output import escape_surrogates

UNNAMED_CLIENT = "unnamed"

Report = Callable[[float, float | None, str | None], Awaitable[None]]


class Claims:
    """A client's abilities by what it says of itself when it comes."""

    def __init__(self, capabilities: Mapping[str, object]) -> None:
        ways = capabilities.get("elicitation")
        self._ways = ways if isinstance(ways, dict) else None
        self.can_sample = capabilities.get("sampling") is not None
        self.can_list_roots = capabilities.get("roots") is not None

    @property
    def can_elicit(self) -> bool:
        ways = self._ways
        return ways is not None and (ways.get("form") is not None or ways.get("url") is None)

    @property
    def can_open_urls(self) -> bool:
        return self._ways is not None and self._ways.get("url") is not None


class BegunRun(Claims):
    """One run in a task of its own; also its client's front, through the handler that joins it."""

    def __init__(self, early: EarlyRun, want_server: Callable[[], None] | None = None) -> None:
        """`want_server` brings its request to the handler, unless `give_back` does so by itself."""
        super().__init__(early.introduction.capabilities)
        self.scope = scope_kind()()  # made when a line comes, outside of any task
        self.outcome: Answer | Exception | None = None
        self.ended = asyncio.Event()
        self.session: object = early.introduction
        self.early = early
        self._want_server = want_server
        self._joined = asyncio.Event()
        self._ask: Ask | None = None
        self._front: Front | None = None
        self._report: Report | None = None

    def build_caller(self, memory: ClientMemory) -> Caller:
        """Build the caller of this run."""
        name = self.early.client
        return Caller(
            progress=ProgressReport(self.report),
            ask=self.ask if self.can_elicit else None,
            front=self,
            memory=memory,
            client=name if isinstance(name, str) and name else UNNAMED_CLIENT,
            run_id=new_run_id(),
            principal=LOCAL,
        )

    async def join(self, ask: Ask | None, front: Front, report: Report) -> Answer:
        """Follow the run from the handler of its request; whoever cancels that cancels the run."""
        self._ask, self._front, self._report = ask, front, report
        self._joined.set()
        try:
            await self.ended.wait()
        except anyio.get_cancelled_exc_class():
            self.scope.cancel()
            with anyio.CancelScope(shield=True):
                await self.ended.wait()
            raise
        if isinstance(self.outcome, Exception):
            raise self.outcome
        assert self.outcome is not None, "only the handler itself cancels a run that it has joined"
        return self.outcome

    async def report(self, step: float, total: float | None, message: str | None) -> None:
        if self._report is not None:
            await self._report(step, total, message)
        else:
            self.early.report(step, message)

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        await self._join()
        assert self._ask is not None
        return await self._ask(question, choices)

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        return await (await self._join()).elicit(params, key=key)

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        return await (await self._join()).sample(params, key=key)

    async def list_roots(self, *, key: str = "") -> JsonObject:
        return await (await self._join()).list_roots(key=key)

    async def log(self, level: str, logger: str, data: Json) -> None:
        if self._front is not None:  # before, no client has asked for a level
            await self._front.log(level, logger, data)

    def give_back(self) -> None:
        """Let the SDK have its request."""
        if self._want_server is not None:
            self._want_server()

    async def _join(self) -> Front:
        self.give_back()
        await self._joined.wait()
        assert self._front is not None
        return self._front


class EarlyRuns:
    """Begins the runs of a porch; `take` gives each that is unanswered to the handler of its request, once."""

    def __init__(self, porch: Porch, app: LateApp, tasks: OwnedTasks) -> None:
        self.memory: ClientMemory | None = None  # of the client, once it has run something
        self._porch = porch
        self._app = app
        self._tasks = tasks
        self._going: dict[str, BegunRun] = {}

    def begin(self, early: EarlyRun) -> None:
        """Begin a run."""
        run = self._going[str(early.id)] = BegunRun(early, self._porch.want_server)
        early.stop = run.scope.cancel
        self._tasks.start(self._carry_out, run)

    def take(self, identifier: str) -> BegunRun | None:
        """Return the run that this request has begun, if it has."""
        return self._going.pop(identifier, None)

    async def _carry_out(self, run: BegunRun) -> None:
        early, came = run.early, asyncio.get_running_loop().time()
        try:
            with run.scope:
                app = await self._app.get()
                run.outcome = await app.runs.run(
                    early.command, caller=run.build_caller(self._memory(early)), since=came
                )
        except anyio.get_cancelled_exc_class():  # the server ends, not only this run
            if not self._porch.handed_over:
                early.refuse()
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to the handler of the request
            run.outcome = error
        finally:
            run.ended.set()
        if self._porch.handed_over:
            return  # its handler has it, or will have it in a moment
        if run.outcome is None:
            del self._going[str(early.id)]
        elif isinstance(run.outcome, Answer) and not run.outcome.attachments:
            del self._going[str(early.id)]
            early.answer(escape_surrogates(run.outcome.text), is_error=run.outcome.is_error)
        else:
            self._porch.want_server()

    def _memory(self, early: EarlyRun) -> ClientMemory:
        if self.memory is None:
            self.memory = ClientMemory(0 if early.introduction.sessionless else 1)
        return self.memory


@asynccontextmanager
async def open_early_runs(porch: Porch, app: LateApp) -> AsyncIterator[EarlyRuns]:
    """Let runs go on as long as this is open; then those that are still going are cancelled."""
    scope_kind()  # only a task can ask for it
    tasks = OwnedTasks()
    try:
        yield EarlyRuns(porch, app, tasks)
    finally:
        await tasks.end()
