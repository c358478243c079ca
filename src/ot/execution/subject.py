"""The subject of a question: a call, its arguments, and why a person is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ot.execution.call import Call
from ot.values import Arguments

if TYPE_CHECKING:
    from ot.journal.planned import PlannedCall

MOST_TICKED = 20  # calls of a question that can be agreed to one by one
BY_ITSELF = "it asks, or calls what may have an effect, by itself"
"""The reason why a preview lists a call of a tool that reads."""


class Subject(NamedTuple):
    """A call to ask about; one that asks by itself has a `question`, and is never remembered as agreed to."""

    tool: str
    reason: str
    arguments: Arguments
    question: str = ""
    files: tuple[Path, ...] | None = ()  # that must not change while the person is asked; None: those in the arguments
    places: tuple[Path, ...] = ()  # of files with a life of their own, which must not be replaced meanwhile
    room: int = 0  # characters of its arguments that are shown at least
    details: tuple[str, ...] = ()  # more lines about why it is asked
    values: frozenset[str] = frozenset()  # the keys of values that it is asked about
    others: str = ""  # the other reasons, where there are such values
    reasons: tuple[str, ...] = ()  # one by one
    call: Call | None = None  # that waits for the answer
    digest: Callable[[Arguments], str] | None = None  # compares it with others
    planned: PlannedCall | None = None  # it does not wait: the run is expected to make it later

    @property
    def number(self) -> int:
        """Its number on the list of its run's plan; 0 if it is not there."""
        planned = self.planned or (self.call.planned if self.call is not None else None)
        return 0 if planned is None else planned.number

    @property
    def agreements(self) -> frozenset[tuple[str, str]]:
        """The keys to remember if a person agrees to more than this call: for the same reason, or the same values."""
        reason = self.others if self.values else self.reason
        return frozenset((self.tool, key) for key in (*self.values, *([reason] if reason else ())))
