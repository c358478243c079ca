"""A client's answer to a question, brought from the replica that was asked to the one whose kernel waits for it.

Progress and what comes of it, an answer or the next question, go back the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TypeAlias

from mcp_types import CallToolResult, InputRequiredResult, InputResponses
from pydantic import TypeAdapter

from mcp_core.json_types import Json, JsonObject
from onetool.front.suspended_runs import LostRunError, RunState, SuspendedRuns, UnknownRunError, Waiting
from onetool.replicas.channels import ReplicaChannel, ReplicaChannels, ReplicaGoneError
from onetool.replicas.progress import pass_on, progress_to
from ot.clients.caller import Progress
from ot.run.answer import Answer

SUBJECT = "answer"

Rendered: TypeAlias = CallToolResult | InputRequiredResult
Render: TypeAlias = Callable[[Answer | Waiting], Rendered]
Save: TypeAlias = Callable[[str], Awaitable[None]]
"""Saves what the client of a principal has read and agreed to, before something is answered."""


@cache
def _words() -> TypeAdapter[InputResponses]:
    """Build what reads and writes them, which takes a while."""
    return TypeAdapter(InputResponses)


class AnswersElsewhere:
    """Resumes runs that wait in other replicas."""

    def __init__(self, talks: ReplicaChannels) -> None:
        self._talks = talks

    async def resume(self, state: RunState, words: InputResponses, *, principal: str, progress: Progress) -> Rendered:
        """Follow a run on from its questions, wherever it is.

        Raises UnknownRunError, and OSError where nothing can be sent.
        """
        try:
            return await self._resume(state, words, principal, progress)
        except ReplicaGoneError:
            raise LostRunError(state.run) from None

    async def _resume(self, state: RunState, words: InputResponses, principal: str, progress: Progress) -> Rendered:
        said = _words().dump_python(words, mode="json", by_alias=True, exclude_none=True)
        asked: JsonObject = {"state": str(state), "principal": principal, "words": said}
        async with self._talks.open(state.replica, SUBJECT, asked) as talk:
            while True:
                match await talk.receive():
                    case {"progress": told, "milestone": milestone}:
                        await pass_on(told, progress, milestone=milestone)
                    case {"answer": answer}:
                        return CallToolResult.model_validate(answer)
                    case {"questions": questions}:
                        return InputRequiredResult.model_validate(questions)
                    case _:
                        raise UnknownRunError


class AnswersHere:
    """Serves other replicas that have a client's answer for a run which waits in this one."""

    def __init__(self, runs: SuspendedRuns, render: Render, save: Save) -> None:
        self._runs = runs
        self._render = render
        self._save = save

    async def serve(self, talk: ReplicaChannel, asked: Mapping[str, Json]) -> Json:
        words = _words().validate_python(asked["words"])
        try:
            state = RunState.read(asked["state"])
            progress = progress_to(talk)
            outcome = await self._runs.resume(state, words, principal=asked["principal"], progress=progress)
        except UnknownRunError:
            return {"unknown": True}
        await self._save(asked["principal"])
        rendered = self._render(outcome)
        kind = "answer" if isinstance(rendered, CallToolResult) else "questions"
        return {kind: rendered.model_dump(mode="json", by_alias=True, exclude_none=True)}
