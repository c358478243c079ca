"""The caller of a tool: how long it can wait, and how it is told and asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.clients.front import Front
from ot.clients.memory import ClientMemory
from ot.clients.person import LOCAL

if TYPE_CHECKING:
    from opentelemetry.trace import Span


class Choice(StrEnum):
    """The ways in which a person can agree to a call."""

    ONCE = "once"
    RUN = "run"
    CLIENT = "client"


YES_OR_NO = (Choice.ONCE,)
CHOICE_WORDS = {
    Choice.ONCE: "Yes, this once",
    Choice.RUN: "Yes, and every further call of the same tools in this run",
    Choice.CLIENT: "Yes, and every further call of the same tools until this client disconnects",
}
"""How the choices are put to a person; to none of them is to say no."""

Progress = Callable[[float, float | None, str], Awaitable[None]]
"""Hears how far something is, and may leave out what follows too soon, unless the message is a Milestone."""


class Milestone(str):
    """The message of the first or the last report of a call, which is never left out."""

    __slots__ = ()


Ask = Callable[[str, Sequence[Choice]], Awaitable[Choice | None]]
"""Puts a question with these choices to a person; None is a no."""


@dataclass(eq=False, slots=True)
class Notes:
    """Lines for whoever reads an answer: they follow its text, and are no part of its value."""

    lines: dict[str, None] = field(default_factory=dict)

    def add(self, line: str) -> None:
        """Add a line; one that is there already is not repeated."""
        self.lines[line] = None

    def below(self, text: str) -> str:
        """Return the text with the lines below it."""
        return "\n".join([text, *self.lines]) if self.lines else text


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller; everything is optional."""

    remaining: Callable[[], float] | None = None  # seconds left of the run that this call is part of
    timeout: float | None = None  # seconds that the caller itself allows
    progress: Progress | None = None
    ask: Ask | None = None  # asks a person; None: nobody can be asked
    hold: Callable[[], AbstractContextManager[None]] | None = None  # lets the caller's own clock stand still meanwhile
    front: Front | None = None  # the client, as proxied servers may turn to it
    notes: Notes | None = None  # takes lines that belong below the answer
    memory: ClientMemory = field(default_factory=ClientMemory)  # of the client, over all its runs
    run_memory: ClientMemory | None = None  # of the run that this call is part of
    client: str = ""  # the name of the program in whose context the answer ends; none at a command line
    run: int = 0  # the number under which the run that this call is part of is recorded
    run_id: str = ""  # the name by which that run can be resumed; none outside a run
    span: Span | None = None  # that spans of calls are children of, and that servers are told of
    principal: str = LOCAL  # whose runs and values these are; nothing that outlives a run is looked up without it


NOBODY = Caller()
"""Callers that do not say who they are."""
