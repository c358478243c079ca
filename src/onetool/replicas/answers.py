"""A client's answer to a question, brought from the replica that was asked to the one whose kernel waits for it.

Progress and what comes of it, an answer or the next question, go back the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mcp_types import CallToolResult, InputRequiredResult, InputResponses
from pydantic import TypeAdapter

from mcp_core.json_types import Json, JsonObject
from onetool.replicas.progress import pass_on, progress_to
from onetool.replicas.talks import Talk, Talks
from onetool.suspended_runs import RunState, SuspendedRuns, UnknownRunError, Waiting
from ot.caller import Progress
from ot.run.answer import Answer

SUBJECT = "answer"

Rendered: TypeAlias = CallToolResult | InputRequiredResult
Render: TypeAlias = Callable[[Answer | Waiting], Rendered]

_WORDS: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)


class AnswersElsewhere:
    """Resumes runs that wait in other replicas."""

    def __init__(self, talks: Talks) -> None:
        self._talks = talks

    async def resume(self, state: RunState, words: InputResponses, *, principal: str, progress: Progress) -> Rendered:
        """Follow a run on from its questions, wherever it is.

        Raises UnknownRunError, ReplicaGoneError, and OSError where nothing can be sent.
        """
        said = _WORDS.dump_python(words, mode="json", by_alias=True, exclude_none=True)
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

    def __init__(self, runs: SuspendedRuns, render: Render) -> None:
        self._runs = runs
        self._render = render

    async def serve(self, talk: Talk, asked: Mapping[str, Json]) -> Json:
        words = _WORDS.validate_python(asked["words"])
        try:
            state = RunState.read(asked["state"])
            progress = progress_to(talk)
            outcome = await self._runs.resume(state, words, principal=asked["principal"], progress=progress)
        except UnknownRunError:
            return {"unknown": True}
        rendered = self._render(outcome)
        kind = "answer" if isinstance(rendered, CallToolResult) else "questions"
        return {kind: rendered.model_dump(mode="json", by_alias=True, exclude_none=True)}
