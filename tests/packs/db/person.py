"""A person who answers questions always in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from ot.clients.caller import Caller, Choice


class Person:
    """Answers yes unless told otherwise, and remembers what was asked."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.questions: list[str] = []
        self._agrees = agrees

    @property
    def caller(self) -> Caller:
        """A caller behind whom this person is."""
        return Caller(ask=self.ask)

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        self.questions.append(question)
        return Choice.ONCE if self._agrees else None
