"""One call as the journal of its run knows it, from its beginning until it is written how it ended."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Protocol

from mcp_core.json_types import JsonObject
from ot.effects import Effect
from ot.values import ToolValue

if TYPE_CHECKING:
    from ot.journal.run_changes import Piece, RunChanges

_BITS = 52  # of the number of a call: JSON everywhere has that many


class CallJournal(Protocol):
    """The journal of a run, as one of its calls sees it."""

    @property
    def changes(self) -> RunChanges | None: ...
    def keep_arguments(self, data: bytes) -> bytes: ...
    def note_task(self, call: OpenCall, task: JsonObject | None) -> None: ...
    async def settle(self) -> None: ...


class Wording(Protocol):
    """Words the arguments of a call that only reads, once they are needed."""

    def word(self, arguments: dict[str, ToolValue], run: CallJournal, /) -> bytes: ...


class OpenCall:
    """One call, from its beginning until it is written how it ended."""

    __slots__ = (
        "arguments", "began", "effect", "given", "kept", "number", "run", "state", "task", "time", "tool", "wording",
    )  # fmt: skip

    def __init__(
        self,
        tool: str,
        effect: Effect,
        given: bytes,
        arguments: dict[str, ToolValue] | None,
        state: int | None,
        run: CallJournal,
    ) -> None:
        self.tool = tool
        self.effect = effect
        self.given = given  # its tool and arguments as fields of a line; empty until they are worded
        self.arguments = arguments or {}  # as they were given, where they are worded later
        self.state = state  # in which it began
        self.number = random.getrandbits(_BITS)  # no other call has it
        self.time = time.time()  # seconds since the epoch
        self.began = time.perf_counter()
        self.kept = b""  # the field that says where its large value lies
        self.run = run
        self.task: JsonObject | None = None  # that another server has made of it
        self.wording: Wording | None = None

    @property
    def alone(self) -> AbstractContextManager[object]:
        """Keeps other calls of the run from changing anything meanwhile."""
        changes = self.run.changes
        return nullcontext() if changes is None else changes.alone

    def note(self, facts: JsonObject, content: Iterable[Piece] = (), size: int = 0) -> tuple[int, str]:
        """Note what the call is about to change; see `RunChanges.note`."""
        changes = self.run.changes
        return (-1, "") if changes is None else changes.note(self.number, facts, content, size)

    def add(self, number: int, facts: JsonObject) -> None:
        """Add to what was noted what is known only now."""
        if (changes := self.run.changes) is not None:
            changes.add(number, self.number, facts)

    async def note_task(self, task: JsonObject) -> None:
        """Note that another server has made a task of the call, before anybody looks at that."""
        if task != self.task:
            if not self.given and self.wording is not None:
                self.given = self.wording.word(self.arguments, self.run)
            self.run.note_task(self, task)
        with suppress(OSError):  # then the run says that it cannot be resumed
            await self.run.settle()

    def forget_task(self) -> None:
        """Note that no later run can go on with the task."""
        if self.task is not None:
            self.run.note_task(self, None)
