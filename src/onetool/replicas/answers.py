"""A client's answer to a question, brought from the replica that was asked to the one whose kernel waits for it.

Progress and what comes of it, an answer or the next question, go back the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mcp_core.json_types import Json, JsonObject
from onetool.replicas.channels import ReplicaChannel, ReplicaChannels, ReplicaGoneError, pass_on, progress_to
from ot.clients.caller import Progress
from ot.run.answer import Answer
from ot.run.waiting_runs import LostRunError, RunState, UnknownStateError, Waiting, WaitingRuns

SUBJECT = "answer"

Save: TypeAlias = Callable[[str], Awaitable[None]]
"""Saves what the client of a principal has read and agreed to, before something is answered."""


class AnswersElsewhere:
    def __init__(self, talks: ReplicaChannels) -> None:
        self._talks = talks

    async def resume(
        self, state: RunState, answers: Mapping[str, JsonObject], *, principal: str, progress: Progress
    ) -> Answer | Waiting:
        """Follow a run on from its questions, wherever it is.

        Raises UnknownStateError, and OSError where nothing can be sent.
        """
        asked: JsonObject = {"state": str(state), "principal": principal, "answers": dict(answers)}
        try:
            async with self._talks.open(state.replica, SUBJECT, asked) as talk:
                while True:
                    match await talk.receive():
                        case {"progress": list(told), "milestone": bool(milestone)}:
                            await pass_on(told, progress, milestone=milestone)
                        case {"answer": answer}:
                            return Answer.decoded(answer)
                        case {"state": str(next_state), "questions": dict(questions)}:
                            return Waiting(next_state, _objects(questions))
                        case _:
                            raise UnknownStateError
        except ReplicaGoneError:
            raise LostRunError(state.run) from None


class AnswersHere:
    """Serves other replicas that have a client's answer for a run which waits in this one."""

    def __init__(self, runs: WaitingRuns, save: Save) -> None:
        self._runs = runs
        self._save = save

    async def serve(self, talk: ReplicaChannel, asked: Mapping[str, Json]) -> Json:
        match asked:
            case {"state": str(state), "principal": str(principal), "answers": dict(answers)}:
                pass
            case _:
                return {"unknown": True}
        try:
            progress = progress_to(talk)
            outcome = await self._runs.resume(
                RunState.read(state), _objects(answers), principal=principal, progress=progress
            )
        except UnknownStateError:
            return {"unknown": True}
        await self._save(principal)
        if isinstance(outcome, Answer):
            return {"answer": outcome.encoded()}
        return {"state": outcome.state, "questions": dict(outcome.questions)}


def _objects(found: Mapping[str, Json]) -> dict[str, JsonObject]:
    return {key: value for key, value in found.items() if isinstance(value, dict)}
