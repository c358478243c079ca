"""One run, which belongs to nobody's request: requests and other clients attach to it and detach."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.caller import Caller, Choice, Notes, Progress, Said, Word, calls_of
from ot.clients.front import FrontError
from ot.execution.consent import held
from ot.run.answer import Answer
from ot.run.client_requests import (
    ClientRequest,
    NobodyCameError,
    OpenQuestion,
    PersonRequest,
    Questions,
    Settled,
    has_forms,
    word_answer,
)
from ot.run.kernel_session import RunView
from ot.run.patience import Patience
from ot.tasks.owned_tasks import scope_kind

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

_CLOSED = "The question is not open any more."

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
        self,
        client: Caller,
        deliver: Deliver | None,
        *,
        patience: Patience,
        limit: float,
        hold: float,
        asks_within: float = 0.0,
        hear: Callable[[LiveRun, OpenQuestion], None] = lambda run, question: None,
    ) -> None:
        """`asks_within` is how long a person may take who is asked elsewhere, 0 if nobody is; `hear` hears of that."""
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
        self.takes_task = False  # its client looks at the run, and at its questions, after it was answered
        self.is_task = False  # of its client, since that was answered
        self.watched = False
        self.stays = False  # it ends with its request, however long that takes
        self.known_elsewhere = False  # to other replicas
        self.client = client
        self._hold = hold
        self._asks_within = asks_within
        self._hear = hear
        self._answered: dict[str, Word] = {}  # questions, by their names
        self._asked = 0
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
        client = self.client
        elsewhere = client.ask is None and self._asks_within > 0
        return replace(
            client,
            run_id=self.id,
            notes=self.notes,
            progress=self._report,
            ask=self._ask if client.ask is not None or elsewhere else None,
            asked_elsewhere=elsewhere,
            front=None if client.front is None else replace(client.front, request=self._request, log=self._log),
        )

    async def _ask(self, question: str, choices: Sequence[Choice]) -> Word:
        """Ask the person at the client; one without forms is left, and whoever answers first is the person."""

        async def put(client: Caller) -> Word:
            assert client.ask is not None  # such a client would not be asked
            return await client.ask(question, choices)

        if self._attached and has_forms(self.client):
            try:
                return await self._through_attached(put)
            except NobodyCameError:
                return Said(None, f"since nobody answered within {self._hold:g} s")
        self._asked += 1
        name, now, hold = str(self._asked), time.time(), self._hold if has_forms(self.client) else self._asks_within
        asked = OpenQuestion(
            self.id, name, question, tuple(choices), self.client.client, now, now + hold, calls=calls_of(choices)
        )
        if not self.detached:
            self.patience.spend()
        self._hear(self, asked)
        try:
            said = await self._through_anybody(PersonRequest(asked, put, hold=hold))
        except NobodyCameError:
            said = Said(None, f"since nobody answered within {hold:g} s")
        self._answered[name] = said
        return said

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
        if not self.detached and self.client.front is not None:
            await self.client.front.log(level, logger, data)

    async def _report(self, done: float, total: float | None, message: str) -> None:
        if self.detached:
            self._progress = done, total, message
            self.nudge()
        elif self.client.progress is not None:
            await self.client.progress(done, total, message)

    async def _through_client(
        self, what: str, able: Callable[[Caller], bool], work: Callable[[Caller], Awaitable[Result]]
    ) -> Result:
        """Have something done by the client that is attached, or the next that waits; raises NobodyCameError."""
        if self._attached:
            return await self._through_attached(work)
        return await self._through_anybody(ClientRequest(what, able, work, hold=self._hold))

    async def _through_attached(self, work: Callable[[Caller], Awaitable[Result]]) -> Result:
        """Have it done by the client of the run; raises NobodyCameError where that looks at its task no more."""
        try:
            with self.patience.held(), anyio.move_on_after(self._hold if self.is_task else None):
                return await work(self.client)
            raise NobodyCameError
        finally:
            self.nudge()  # patience may be over by now

    @property
    def _attached(self) -> bool:
        """True while its client is asked: also between two looks at its task."""
        return not self.detached or (self.is_task and self.questions is not None)

    async def _through_anybody(self, request: ClientRequest[Result]) -> Result:
        self._requests.append(request)
        self.nudge()
        try:
            return await request.done_by_someone()
        finally:
            self._requests.remove(request)
            self.nudge()

    # -- for people who answer elsewhere

    @property
    def asks_elsewhere(self) -> bool:
        """True if it has a question that its client could not show."""
        return bool(self.open_questions) and not has_forms(self.client)

    @property
    def open_questions(self) -> list[OpenQuestion]:
        return [each.question for each in self._requests if isinstance(each, PersonRequest) and each.open]

    def settle(self, name: str, said: Said) -> Settled:
        """Answer a question from elsewhere, once."""
        asked = (each for each in self._requests if isinstance(each, PersonRequest) and each.open)
        request = next((each for each in asked if each.question.name == name), None)
        if request is None:
            known = name in self._answered
            return Settled(False, f"It was answered before: {word_answer(self._answered[name])}." if known else _CLOSED)
        if not request.question.takes(said.choice):
            return Settled(False, "That is none of its choices.")
        request.settle(said)
        self._answered[name] = said
        return Settled(True, f"Run {self.id} goes on{', and the call was refused' if said.choice is None else ''}.")

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
            self.client = replace(self.client, progress=progress)
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
            self.client = replace(self.client, progress=None)
            self.deliver(self.questions)

    # -- its course

    @property
    def elapsed(self) -> float:
        return self._loop.time() - self._began

    @property
    def latest(self) -> str:
        """The last progress of a call that nobody has heard, in words."""
        return self._progress[2] if self._progress is not None else ""

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
        if self._due is not None:
            self._due.cancel()
        self.nudge()
        self.patience.close()

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

    def is_idle(self) -> bool:
        """True if it is detached, and no client does any of its requests."""
        return self.detached and not any(request.taken for request in self._requests)

    async def attend(self, waiter: Caller, seconds: float, idle: Callable[[], bool] | None = None) -> None:
        """Stay with it for a while, for a client that waits for it, and do what it needs of one; that takes no time.

        While the client is `idle`, others that wait can do it instead.
        """
        until = self._loop.time() + seconds
        if self._progress is not None:
            await self._tell_progress(waiter)  # what was said while nobody waited
        while not self.ended:
            request = next((each for each in self._requests if each.is_for(waiter)), None)
            now = self._loop.time()
            if request is not None:
                try:
                    with held(waiter):
                        await request.do(waiter, idle)
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
