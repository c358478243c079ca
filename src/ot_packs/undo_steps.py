"""One change of a run that is to be undone, and what a class that undoes such changes has to offer."""

from __future__ import annotations

from typing import Protocol

from mcp_core.quick_dataclass import dataclass
from ot.journal.run_changes import KeptChange

UNKNOWN = "it is not known whether the run changed it, which was stopped in the middle"
CHANGED = "it has changed since"
DAMAGED = "what was noted of it cannot be read"
IN_DAMAGED = (LookupError, TypeError, ValueError)
"""Errors of whoever reads a note that no OneTool has written."""


@dataclass(slots=True)
class Step:
    """A change, and what the look at it has found out."""

    change: KeptChange
    words: str  # what is done to undo it: "restore a.txt"
    problem: str = ""  # why it cannot be undone, if so
    difference: str = ""  # between what is there and what would be put back
    done: bool = False  # there is nothing to do: it is as it was
    warning: str = ""  # what is not quite as it was afterwards


class Undoer(Protocol):
    """Undoes changes of one kind; one for each undo, which remembers what is planned."""

    async def look(self, change: KeptChange) -> Step:
        """Find out whether a change can be undone once all that was looked at before has been."""

    async def undo(self, step: Step) -> None:
        """Undo a change, unless it has changed since; raises CallError."""
