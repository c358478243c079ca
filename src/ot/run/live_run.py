"""One run, which belongs to nobody's request: requests and other clients attach to it and detach."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias, TypeVar

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.caller import Caller, Choice, Notes, Progress
from ot.clients.front import FrontError
from ot.execution.consent import held
from ot.run.answer import Answer
from ot.run.client_requests import ClientRequest, NobodyCameError, Questions
from ot.run.kernel_session import RunView
from ot.tasks.owned_tasks import scope_kind

LONGEST_WAIT = 60.0  # seconds after which a run that waits for others is answered, even if patience would end sooner
GRACE = 2.0  # seconds in which a run that has waited for another one can end by itself


class Patience:
    """Counts down while nobody is asked, and then is `over`; a run that waits for another one has more of it.

    It began when the loop's clock showed `since`, or now. `renewed` if the word on a question comes with a new request,
    so that the client's own patience is new as well.
    """

    def __init__(self, seconds: float, *, since: float | None = None, renewed: bool = False) -> None:
        self.over = False
        self._on_over: Callable[[], None] | None = None
        self._seconds = seconds
        self._renewed = renewed
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time() if since is None else since
        self.ends = self._began + seconds  # by the loop's clock, unless there is more of it by then
        self._asked_at = 0.0
        self._questions = 0
        self._waits = 0
        self._timer: asyncio.TimerHandle | None = None

    def count(self, on_over: Callable[[], None]) -> None:
        """Count from now on what has passed since it began, and call this when it is over."""
        self._on_over = on_over
        self._set_timer()

    def close(self) -> None:
        """Count no more."""
        self._on_over = None
        if self._timer is not None:
            self._timer.cancel()

    @property
    def asking(self) -> bool:
        return self._questions > 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still while somebody at the client is asked."""
        if not self._questions:
            self._asked_at = self._loop.time()
        self._questions += 1
        self._set_timer()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                now = self._loop.time()
                if self._renewed:
                    self._began, self.ends = now, now + self._seconds
                else:
                    self._began += now - self._asked_at
                    self.ends += now - self._asked_at
                self._set_timer()

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """Have more of it while the run waits for another one; gives the seconds for which it can."""
        self._waits += 1
        self._set_timer()
        try:
            yield self._wait_ends() - self._loop.time()
        finally:
            self._waits -= 1
            if not self._waits:
                self.ends = max(self.ends, min(self._loop.time(), self._wait_ends()) + GRACE)
                self._set_timer()

    def _wait_ends(self) -> float:
        return self._began + max(self._seconds, LONGEST_WAIT)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._questions and self._on_over is not None:
            ends = self._wait_ends() + GRACE if self._waits else self.ends
            self.over = ends <= self._loop.time()
            self._timer = self._loop.call_at(ends, self._end)

    def _end(self) -> None:
        self.over = True
        if self._on_over is not None:
            self._on_over()


ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
LENGTH = 8  # of 850 thousand million: two servers that share a state folder need not ask each other
_RANDOM_BYTES = 16  # far more than the id takes, so that no character is likelier than another
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]


def new_run_id() -> str:
    """Return a new name for a run, such as `r7k2m9xqd`."""
    number, name = int.from_bytes(os.urandom(_RANDOM_BYTES)), "r"
    for _ in range(LENGTH // 2):
        number, index = divmod(number, len(_PAIRS))
        name += _PAIRS[index]
    return name


BEAT = 10.0  # seconds after which whoever waits hears that the run goes on

_WHAT = {
    "elicitation/create": "a question of a server",
    "sampling/createMessage": "a question to the client's model",
    "roots/list": "the client's folders",
}

Result = TypeVar("Result")
Delivered: TypeAlias = Answer | Questions | Exception | None
"""The answer of a run, its questions, what went wrong, or None if it was cancelled."""

Deliver: TypeAlias = Callable[[Delivered], None]
"""Gives a request its answer, once."""


class RunCancelledError(Exception):
    """A run that somebody waits for was cancelled by somebody else: it has no answer."""


class LiveRun:
    """A run while it goes on. A request that waits for its answer is attached; `deliver` gives it the answer.

    A run is *suspended* while its questions are with a client that answers them with its next request, and *detached*
    once its client was answered without it: then it is for whoever waits for it.
    """

    def __init__(
        self, client: Caller, deliver: Deliver | None, *, patience: Patience, limit: float, hold: float
    ) -> None:
        self.id = client.run_id or new_run_id()
        self.patience = patience
        self.limit = limit  # seconds
        self.memory = client.memory
        self.principal = client.principal
        self.questions: Questions | None = None  # of a client that is asked between two requests
        self.view = RunView()
        self.scope = scope_kind()()  # anyio would look for its kind, and for a task
        self.outcome: Answer | Exception | None = None  # None for good if it was cancelled
        self.stopped = ""  # the answer to give once it has been cancelled
        self.notes = Notes()
        self.ended = False
        self.detached = False
        self.traced = False  # its client is part of a trace
        self.known_elsewhere = False  # to other replicas
        self._client = client
        self._hold = hold
        self._deliver = deliver
        self._due: asyncio.TimerHandle | None = None  # for somebody to watch it
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._turned = asyncio.Event()
        self._requests: list[ClientRequest[object]] = []
        self._progress: tuple[float, float | None, str] | None = None  # the last that nobody has heard

    # -- for the code that runs

    def make_caller(self) -> Caller:
        """Return a caller who reaches the client that is attached, and then whichever client waits for the run.

        It leads back here, so it is not kept: every run would be a circle that only a search for garbage finds.
        """
        client = self._client
        return replace(
            client,
            run_id=self.id,
            notes=self.notes,
            progress=self._report,
            ask=self._ask if client.ask is not None else None,
            front=None if client.front is None else replace(client.front, request=self._request, log=self._log),
        )

    async def _ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        async def put(client: Caller) -> Choice | None:
            assert client.ask is not None  # such a client would not be asked
            return await client.ask(question, choices)

        try:
            return await self._through_client(question, lambda client: client.ask is not None, put)
        except NobodyCameError:
            return None

    async def _request(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        async def send(client: Caller) -> JsonObject:
            assert client.front is not None  # such a client would not be asked
            return await client.front.request(method, params, key)

        def able(client: Caller) -> bool:
            return client.front is not None and client.front.can(method, params)

        try:
            return await self._through_client(_WHAT[method], able, send)
        except NobodyCameError:
            raise FrontError("no client came to answer it in time") from None

    async def _log(self, level: str, logger: str, data: Json) -> None:
        """Pass it on while the client is attached; afterwards there is no request that it belongs to."""
        if not self.detached and self._client.front is not None:
            await self._client.front.log(level, logger, data)

    async def _report(self, done: float, total: float | None, message: str) -> None:
        if self.detached:
            self._progress = done, total, message
            self.nudge()
        elif self._client.progress is not None:
            await self._client.progress(done, total, message)

    async def _through_client(
        self, what: str, able: Callable[[Caller], bool], work: Callable[[Caller], Awaitable[Result]]
    ) -> Result:
        """Have something done by the client that is attached, or the next that waits; raises NobodyCameError."""
        if not self.detached:
            try:
                with self.patience.held():
                    return await work(self._client)
            finally:
                self.nudge()  # patience may be over by now
        request = ClientRequest(what, able, work, hold=self._hold)
        self._requests.append(request)
        self.nudge()
        try:
            return await request.done_by_someone()
        finally:
            self._requests.remove(request)
            self.nudge()

    # -- for requests that wait for its answer

    async def follow(self, progress: Progress | None = None) -> Answer | Questions:
        """Attach a request until there is an answer, or questions; a request that is cancelled ends the run.

        Raises what went wrong, and RunCancelledError.
        """
        answered: asyncio.Future[Delivered] = self._loop.create_future()

        def deliver(what: Delivered) -> None:
            if not answered.done():
                answered.set_result(what)

        self._deliver = deliver
        if progress is not None:
            self._client = replace(self._client, progress=progress)
        if self.ended:
            self.deliver(self.outcome)
        self._tell_questions()
        try:
            what = await answered
        except anyio.get_cancelled_exc_class():
            self.scope.cancel()
            with anyio.CancelScope(shield=True):
                await self.has_ended()
            raise
        if what is None:
            raise RunCancelledError
        if isinstance(what, Exception):
            raise what
        return what

    def ask_between(self, questions: Questions) -> None:
        """Let the client be asked by answers to its requests, together with what is asked at the same time."""
        self.questions = questions
        questions.on_asked = partial(self._loop.call_soon, self._tell_questions)

    def deliver(self, what: Delivered) -> None:
        """Give the request that is attached its answer, unless it has one."""
        deliver, self._deliver = self._deliver, None
        if deliver is not None:
            deliver(what)

    def _tell_questions(self) -> None:
        if self.questions and self._deliver is not None and not self.ended:
            self._client = replace(self._client, progress=None)
            self.deliver(self.questions)

    # -- its course

    @property
    def elapsed(self) -> float:
        return self._loop.time() - self._began

    @property
    def waits_for(self) -> str:
        """The reason why it needs a client, if it does."""
        return self._requests[0].what if self._requests else ""

    def nudge(self) -> None:
        """Let those who wait for it look at it again."""
        self._turned.set()
        self._turned = asyncio.Event()

    def end(self) -> None:
        self.ended = True
        self.patience.close()
        if self._due is not None:
            self._due.cancel()
        self.nudge()

    async def has_ended(self) -> None:
        while not self.ended:
            await self.turn()

    async def turn(self) -> None:
        """Wait until there is reason to look at it again."""
        await self._turned.wait()

    def when_due(self, watch: Callable[[], object]) -> None:
        """Have somebody watch it when there is something to tell, or patience is over: most runs end before."""
        self._due = self._loop.call_at(min(self._began + BEAT, self.patience.ends), watch)

    async def outlast_patience(self) -> None:
        """Tell the client now and then that the run goes on, until it has ended or patience is over."""
        if not self.ended:
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
        """Stay with it for a while, for a client that waits for it, and do what it needs of one; that takes no time."""
        until = self._loop.time() + seconds
        if self._progress is not None:
            await self._tell_progress(waiter)  # what was said while nobody waited
        while not self.ended:
            request = next((each for each in self._requests if each.is_for(waiter)), None)
            now = self._loop.time()
            if request is not None:
                try:
                    with held(waiter):
                        await request.do(waiter)
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
