"""Runs that wait for their client's answers between two of its requests.

A client without a session cannot be asked in the middle of a request: the question is the answer to it, and the
client's word comes with the next one. The run goes on living in between. It is never started a second time.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, Self

import anyio

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Progress
from ot.clients.person import LOCAL
from ot.run.answer import Answer
from ot.run.client_requests import Questions
from ot.run.live_run import LiveRun, RunCancelledError

PATIENCE = 600.0  # seconds that a run waits for an answer
MOST = 32  # runs that wait at once, each with its kernel


class UnknownStateError(Exception):
    """No run waits for this state: it was used already, its run has ended, or it was never given out."""


class LostRunError(UnknownStateError):
    """The replica in which a run waited has gone, and the run with it: at once, or in some seconds if it stays away."""

    def __init__(self, run: str, seconds: float = 0.0) -> None:
        super().__init__(run)
        self.run = run
        self.seconds = seconds


class RunState(NamedTuple):
    """The way back to a run that waits: it resumes the run once.

    It names the replica in which the run waits, the run, and a word that is good for once.
    """

    replica: str  # empty where there is only one
    run: str
    word: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the form in which a client keeps it; raises UnknownStateError."""
        parts = text.split(".")
        if len(parts) != len(cls._fields):
            raise UnknownStateError
        return cls(*parts)

    def __str__(self) -> str:
        return ".".join(self)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits: `state` resumes it once, with the answers to its `questions`."""

    state: str
    questions: Mapping[str, JsonObject]


class WaitingRuns:
    """The runs that wait for answers; at most 32 at once, then one gives way."""

    def __init__(self, replica: str = "", *, patience: float = PATIENCE) -> None:
        self.replica = replica
        self._patience = patience
        self._runs: dict[RunState, LiveRun] = {}

    async def resume(
        self,
        state: RunState,
        answers: Mapping[str, JsonObject],
        *,
        principal: str = LOCAL,
        progress: Progress | None = None,
    ) -> Answer | Waiting:
        """Follow a run on from its questions; raises UnknownStateError, for anybody else's run too."""
        run = self._runs.get(state)
        if run is None or run.principal != principal or run.questions is None:
            raise UnknownStateError
        if run.scope.cancel_called and run.outcome is None:
            raise UnknownStateError
        del self._runs[state]
        run.scope.deadline = math.inf
        run.questions.answer(answers)
        return await self.follow(run, progress)

    async def follow(self, run: LiveRun, progress: Progress | None = None) -> Answer | Waiting:
        """Follow a run to its end or to its next question; raises what went wrong, and UnknownStateError."""
        try:
            outcome = await run.follow(progress)
        except RunCancelledError:
            raise UnknownStateError from None
        if not isinstance(outcome, Questions):
            return outcome
        now = anyio.current_time()
        self._runs = {state: other for state, other in self._runs.items() if other.scope.deadline > now}
        while len(self._runs) >= MOST:
            # The oldest run of whoever has most ends, so that a crowd of one person's pushes nobody else's out.
            [(crowded, _)] = Counter(each.principal for each in self._runs.values()).most_common(1)
            oldest = next(state for state, each in self._runs.items() if each.principal == crowded)
            self._runs.pop(oldest).scope.cancel()
        state = RunState(self.replica, run.id, secrets.token_urlsafe(24))
        self._runs[state] = run
        run.scope.deadline = now + self._patience
        return Waiting(str(state), outcome.contents)
