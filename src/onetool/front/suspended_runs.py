"""Runs that wait for their client's answer after the request that began them has been answered.

A sessionless client cannot be asked in the middle of a request: the question is the answer to it, and the client's word
comes with the next one. The run itself goes on living in between. It is never started a second time. What questions and
words are is for those who ask: here they only pass through.

The state that a client sends back names the replica in which the run waits, the run, and a word that is good for once.
The SDK seals it on its way out, for this person and this command.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Any, NamedTuple, Protocol, Self

import anyio
from anyio.abc import TaskGroup

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Progress
from ot.clients.person import LOCAL
from ot.run.answer import Answer
from ot.run.run_id import new_run_id

PATIENCE = 600.0  # seconds that a run waits for a word
_LONGEST_KEY = 200  # characters
_OURS = "question-"  # keys of our own begin with it, and no others
MOST = 32  # runs that wait at once, each with its kernel


class Asking(Protocol):
    """Gives the word on a question, whichever request brings it; `key` is the asker's own name for the question."""

    def __call__(self, content: Any, /, key: str = "") -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True)
class RunClient:
    """The client as a suspended run sees it."""

    ask: Asking
    progress: Progress
    run: str  # the name of the run


Work = Callable[[RunClient], Awaitable[Answer]]


class UnknownRunError(Exception):
    """No run waits for this state: it was used already, its run has ended, or it was never given out."""


class LostRunError(UnknownRunError):
    """The replica in which a run waited has gone, and the run with it."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.run = run


class RunState(NamedTuple):
    """The way back to a run that waits: it resumes the run once."""

    replica: str  # empty where there is only one
    run: str
    word: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the form in which a client keeps it; raises UnknownRunError."""
        parts = text.split(".")
        if len(parts) != len(cls._fields):
            raise UnknownRunError
        return cls(*parts)

    def __str__(self) -> str:
        return ".".join(self)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits: `state` resumes it once, with the words on its `questions`."""

    state: RunState
    questions: Mapping[str, Any]


@dataclass(slots=True)
class _Question:
    content: Any
    answered: anyio.Event = field(default_factory=anyio.Event)
    word: Any = None


class _Run:
    """One run, in a task that no request owns."""

    def __init__(self, name: str, principal: str) -> None:
        self.name = name
        self.principal = principal
        self.scope = anyio.CancelScope()
        self.questions: dict[str, _Question] = {}
        self.outcome: Answer | Exception | None = None
        self.listener: Progress | None = None
        self.ended = anyio.Event()
        self._turned = anyio.Event()
        self._count = 0

    @property
    def cancelled(self) -> bool:
        """True if there will be no outcome."""
        return self.outcome is None and (self.scope.cancel_called or self.ended.is_set())

    async def carry_out(self, work: Work) -> None:
        try:
            with self.scope:
                self.outcome = await work(RunClient(self._ask, self._report, self.name))
        except Exception as error:  # noqa: BLE001 - it belongs to the request that follows this run, not to the server
            self.outcome = error
        finally:
            self.ended.set()
            self._turned.set()

    async def turn(self) -> None:
        """Wait until it has ended or has a question."""
        while not self.ended.is_set() and not self.questions:
            self._turned = anyio.Event()
            await self._turned.wait()

    def answer(self, words: Mapping[str, Any]) -> None:
        """Pass on the words on its questions; a question without one stays open."""
        for key in self.questions.keys() & words.keys():
            question = self.questions.pop(key)
            question.word = words[key]
            question.answered.set()

    async def _ask(self, content: Any, /, key: str = "") -> Any:
        key, question = self._own_key(key), _Question(content)
        self.questions[key] = question
        self._turned.set()
        try:
            await question.answered.wait()
        finally:
            self.questions.pop(key, None)
        return question.word

    def _own_key(self, key: str) -> str:
        """Return the asker's key, or one of ours where it is none, too long, taken, or could pass for one of ours.

        Whoever could take our next key would have the client's answer to them count as the word on our question.
        """
        self._count += 1
        usable = 0 < len(key) <= _LONGEST_KEY and key not in self.questions and not key.startswith(_OURS)
        return key if usable else f"{_OURS}{self._count}"

    async def _report(self, done: float, total: float | None, message: str) -> None:
        if self.listener is not None:
            await self.listener(done, total, message)


class SuspendedRuns:
    """The runs of sessionless clients that can be asked; at most 32 wait at once, then one gives way."""

    def __init__(self, tasks: TaskGroup, *, patience: float, replica: str = "") -> None:
        self.replica = replica
        self._tasks = tasks
        self._patience = patience
        self._waiting: dict[RunState, _Run] = {}

    async def start(
        self, work: Work, *, name: str = "", principal: str = LOCAL, progress: Progress | None = None
    ) -> Answer | Waiting:
        """Begin a run and follow it to its end or to its first question."""
        run = _Run(name or new_run_id(), principal)
        self._tasks.start_soon(run.carry_out, work)
        return await self._follow(run, progress)

    async def resume(
        self,
        state: RunState,
        words: Mapping[str, Any],
        *,
        principal: str = LOCAL,
        progress: Progress | None = None,
    ) -> Answer | Waiting:
        """Follow a run on from its questions; raises UnknownRunError, for anybody else's run too."""
        run = self._waiting.get(state)
        if run is None or run.cancelled or run.principal != principal:
            raise UnknownRunError
        del self._waiting[state]
        run.scope.deadline = math.inf
        run.answer(words)
        return await self._follow(run, progress)

    async def _follow(self, run: _Run, progress: Progress | None) -> Answer | Waiting:
        run.listener = progress
        try:
            await run.turn()
        except anyio.get_cancelled_exc_class():
            run.scope.cancel()
            with anyio.CancelScope(shield=True):
                await run.ended.wait()
            raise
        finally:
            run.listener = None
        match run.outcome:
            case Exception() as error:
                raise error
            case Answer() as answer:
                return answer
        if run.cancelled:
            raise UnknownRunError
        return self._suspend(run)

    def _suspend(self, run: _Run) -> Waiting:
        now = anyio.current_time()
        self._waiting = {state: other for state, other in self._waiting.items() if other.scope.deadline > now}
        while len(self._waiting) >= MOST:
            self._give_way()
        state = RunState(self.replica, run.name, secrets.token_urlsafe(24))
        self._waiting[state] = run
        run.scope.deadline = now + self._patience
        return Waiting(state, {key: question.content for key, question in run.questions.items()})

    def _give_way(self) -> None:
        """End the oldest run of whoever has most, so that a crowd of one person's pushes nobody else's out."""
        counts = Counter(run.principal for run in self._waiting.values())
        [(crowded, _)] = counts.most_common(1)
        state = next(state for state, run in self._waiting.items() if run.principal == crowded)
        self._waiting.pop(state).scope.cancel()


@asynccontextmanager
async def open_suspended_runs(*, patience: float = PATIENCE, replica: str = "") -> AsyncIterator[SuspendedRuns]:
    """Keep runs that wait for as long as this is open; then they are cancelled."""
    async with anyio.create_task_group() as tasks:
        yield SuspendedRuns(tasks, patience=patience, replica=replica)
        tasks.cancel_scope.cancel()
