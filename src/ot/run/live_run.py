"""A run in a task that no request owns: its client follows it, and once it is detached, whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.caller import Ask, Caller, Choice, Notes
from ot.clients.front import Front, FrontError
from ot.execution.consent import held
from ot.run.answer import Answer
from ot.run.client_requests import HOLD, ClientRequest, NobodyCameError
from ot.run.patience import Patience
from ot.run.run_id import new_run_id
from ot.run.run_view import RunView
from ot.tasks.owned_tasks import scope_kind

BEAT = 10.0  # seconds after which whoever waits hears that the run goes on

Result = TypeVar("Result")
Deliver = Callable[[Answer | Exception | None], Awaitable[None]]
"""Gives a client the answer of its run; or hears what went wrong, or that the run was cancelled."""


class LiveRun:
    """One run, for a client that begins it, and then for whichever client waits for it.

    `answer` gives that client the answer, once; without it somebody follows the run.
    """

    def __init__(
        self,
        client: Caller,
        *,
        patience: Patience,
        limit: float,
        hold: float = HOLD,
        answer: Deliver | None = None,
    ) -> None:
        self.id = client.run_id or new_run_id()
        self.patience = patience
        self.limit = limit  # seconds
        self.memory = client.memory
        self.principal = client.principal
        self.sight = RunView()
        self.scope = scope_kind()()  # anyio would look for its kind, and for a task
        self.outcome: Answer | Exception | None = None  # None for good if it was cancelled
        self.stopped = ""  # what to answer once it has been cancelled
        self.notes = Notes()
        self.ended = False
        self.followed = False
        self.detached = False
        self.known_elsewhere = False  # to other replicas
        self._client = client
        self._hold = hold
        self._deliver = answer
        self._due: asyncio.TimerHandle | None = None  # for somebody to follow it
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._turned = asyncio.Event()
        self._errands: list[ClientRequest[object]] = []
        self._progress: tuple[float, float | None, str] | None = None  # the last that nobody has heard

    def make_caller(self) -> Caller:
        """Return a caller who reaches the client that began it, and then whichever client waits for it.

        It leads back here, so it is not kept: every run would be a circle that only a search for garbage finds.
        """
        client = self._client
        return replace(
            client,
            run_id=self.id,
            notes=self.notes,
            progress=self._report,
            ask=self._ask if client.ask is not None else None,
            front=_RelayedFront(self, client.front) if client.front is not None else None,
        )

    @property
    def elapsed(self) -> float:
        """The seconds since it began."""
        return self._loop.time() - self._began

    @property
    def waits_for(self) -> str:
        """What it needs a client for, if it does."""
        return self._errands[0].what if self._errands else ""

    def nudge(self) -> None:
        """Let those who wait for it look at it again."""
        self._turned.set()
        self._turned = asyncio.Event()

    def end(self) -> None:
        """Tell everyone that it has ended."""
        self.ended = True
        self.patience.close()
        if self._due is not None:
            self._due.cancel()
        self.nudge()

    async def has_ended(self) -> None:
        """Wait for its end."""
        while not self.ended:
            await self.turn()

    async def turn(self) -> None:
        """Wait until there is reason to look at it again."""
        await self._turned.wait()

    async def answer(self, answer: Answer | Exception | None) -> None:
        """Give the client that began it the answer, unless it has it, or somebody follows the run for it."""
        deliver, self._deliver = self._deliver, None
        if deliver is not None:
            await deliver(answer)

    def when_due(self, follow: Callable[[], object]) -> None:
        """Have somebody follow it when there is something to tell, or patience is over: most runs end before."""
        self._due = self._loop.call_at(min(self._began + BEAT, self.patience.ends), follow)

    async def follow(self) -> None:
        """Stay with it to its end, or as long as patience lasts, for the client that began it."""
        if not self.ended:
            self.followed = True
            self.patience.count(self.nudge)
        beat = self._loop.call_at(self._began + BEAT, self.nudge)
        try:
            while not (self.ended or self.patience.over):
                if beat.when() <= self._loop.time():
                    beat = self._loop.call_later(BEAT, self.nudge)
                    await self._report(round(self.elapsed), self.limit, "running")
                else:
                    await self.turn()
        finally:
            beat.cancel()

    async def attend(self, waiter: Caller, seconds: float) -> None:
        """Stay with it for a while, for a client that waits for it, and do its errands; those take no time."""
        until = self._loop.time() + seconds
        if self._progress is not None:
            await self._tell_progress(waiter)  # what was said while nobody waited
        while not self.ended:
            errand = next((each for each in self._errands if each.is_for(waiter)), None)
            now = self._loop.time()
            if errand is not None:
                try:
                    with held(waiter):
                        await errand.do(waiter)
                finally:
                    self.nudge()  # where it is not done, another client may do it
                until += self._loop.time() - now
            elif now >= until:
                return
            else:
                with anyio.move_on_after(min(until - now, BEAT)):
                    await self.turn()
                await self._tell_progress(waiter)

    async def _tell_progress(self, waiter: Caller) -> None:
        if waiter.progress is not None and not self.ended:
            latest, self._progress = self._progress, None
            await waiter.progress(*(latest or (round(self.elapsed), self.limit, "running")))

    async def through_client(
        self, what: str, able: Callable[[Caller], bool], work: Callable[[Caller], Awaitable[Result]]
    ) -> Result:
        """Have something done by the client that follows, or the next that waits; raises NobodyCameError."""
        if not self.detached:
            try:
                with self.patience.held():
                    return await work(self._client)
            finally:
                self.nudge()  # patience may be over by now
        errand = ClientRequest(what, able, work, hold=self._hold)
        self._errands.append(errand)
        self.nudge()
        try:
            return await errand.done_by_someone()
        finally:
            self._errands.remove(errand)
            self.nudge()

    async def _ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        async def put(client: Caller) -> Choice | None:
            return await _ask_of(client)(question, choices)

        try:
            return await self.through_client(question, lambda client: client.ask is not None, put)
        except NobodyCameError:
            return None

    async def _report(self, done: float, total: float | None, message: str) -> None:
        if self.detached:
            self._progress = done, total, message
            self.nudge()
        elif self._client.progress is not None:
            await self._client.progress(done, total, message)


class _RelayedFront:
    """The client at the front of a run, as proxied servers reach it, whichever client that is at the moment."""

    def __init__(self, run: LiveRun, front: Front) -> None:
        self._run = run
        self._front = front
        self.session = front.session

    @property
    def can_elicit(self) -> bool:
        return self._front.can_elicit

    @property
    def can_open_urls(self) -> bool:
        return self._front.can_open_urls

    @property
    def can_sample(self) -> bool:
        return self._front.can_sample

    @property
    def can_list_roots(self) -> bool:
        return self._front.can_list_roots

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        by_url = params.get("mode") == "url"
        return await self._through_client(
            "a question of a server",
            lambda front: front.can_open_urls if by_url else front.can_elicit,
            lambda front: front.elicit(params, key=key),
        )

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        return await self._through_client(
            "a question to the client's model",
            lambda front: front.can_sample,
            lambda front: front.sample(params, key=key),
        )

    async def list_roots(self, *, key: str = "") -> JsonObject:
        return await self._through_client(
            "the client's folders", lambda front: front.can_list_roots, lambda front: front.list_roots(key=key)
        )

    async def log(self, level: str, logger: str, data: Json) -> None:
        """Pass it on while the client follows; afterwards there is no request that it belongs to."""
        if not self._run.detached:
            await self._front.log(level, logger, data)

    async def _through_client(
        self, what: str, able: Callable[[Front], bool], work: Callable[[Front], Awaitable[JsonObject]]
    ) -> JsonObject:
        async def do(client: Caller) -> JsonObject:
            assert client.front is not None  # such a client would not be asked
            return await work(client.front)

        try:
            return await self._run.through_client(
                what, lambda client: client.front is not None and able(client.front), do
            )
        except NobodyCameError:
            raise FrontError("no client came to answer it in time") from None


def _ask_of(client: Caller) -> Ask:
    assert client.ask is not None  # such a client would not be asked
    return client.ask
