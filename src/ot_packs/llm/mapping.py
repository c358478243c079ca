"""Many questions at once: answers in the order of the questions, and no failure costs another's answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import anyio

from ot.ai.messages import UserMessage
from ot.context import current
from ot.errors import CallError, KeyRefusedError, MissingSecretError, PaymentRequiredError, ToolError
from ot_packs.llm.asking import Asker

_HOPELESS = (KeyRefusedError, MissingSecretError, PaymentRequiredError)  # for every further question, too
_MARGIN = 5.0  # seconds that are kept for what was answered
_MOST_WRITTEN = 10_000_000  # characters of all answers
_UNASKED = "there was no time left for it: ask again for this item, or raise packs.llm.timeout and execution.timeout"


class Answers:
    """The answers to questions, as far as they have come."""

    def __init__(self, asker: Asker, questions: Sequence[UserMessage]) -> None:
        self._asker = asker
        self._questions = questions
        self._found: dict[int, str | CallError] = {}
        self._hopeless: CallError | None = None
        self._written = 0

    async def collect(self, parallel: int) -> list[str | CallError]:
        """Ask so many at once; returns an answer or an error for each question."""
        numbers = iter(range(len(self._questions)))  # taken from by all
        left = current().remaining()
        limit = left - min(_MARGIN, left / 10) if self._asker.timed else math.inf
        with anyio.move_on_after(limit):
            async with anyio.create_task_group() as tasks:
                for _ in range(min(parallel, len(self._questions))):
                    tasks.start_soon(self._work, numbers)
        return [self._found.get(number) or ToolError(_UNASKED) for number in range(len(self._questions))]

    async def _work(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            self._found[number] = self._hopeless or await self._answer(number)
            await current().progress(len(self._found), len(self._questions), "answered")

    async def _answer(self, number: int) -> str | CallError:
        try:
            answer = await self._asker.ask(self._questions[number])
        except _HOPELESS as error:
            self._hopeless = error
            return error
        except CallError as error:
            return error
        self._written += len(answer)
        if self._written > _MOST_WRITTEN:
            self._hopeless = ToolError(f"the answers before it have {self._written:,} characters: ask for shorter ones")
        return answer
