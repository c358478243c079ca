"""A mistake in the source of a diagram."""

from __future__ import annotations

from dataclasses import dataclass

from ot.errors import ToolError


@dataclass(frozen=True, slots=True)
class Mistake:
    """Where a source cannot be understood, and why."""

    line: int | None  # from 1; None where the library does not say
    text: str  # of that line
    reason: str


class MistakeError(ToolError):
    """A source that cannot be drawn."""

    def __init__(self, mistake: Mistake) -> None:
        place = f"line {mistake.line} ({mistake.text.strip()!r}): " if mistake.line else ""
        super().__init__(f"the diagram has a mistake: {place}{mistake.reason}")
        self.mistake = mistake
