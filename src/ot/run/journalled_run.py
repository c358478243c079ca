"""A run in the journal, from its beginning to its answer."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ot.clients.caller import Caller, Notes
from ot.journal.journal import Journal
from ot.journal.run_journal import RunJournal
from ot.run.outcome import Failure, Nothing, Outcome, error_kind

CANCELLED = "cancelled"


class JournalledRun:
    """`with JournalledRun(...) as journalled`, and `end` once its answer is there; nothing happens without a journal.

    It is written down that a run begins when `begin` is called, which must be before its first call, or when it ends
    before that. A run that never ends was cancelled, and is written down as that.
    """

    def __init__(self, journal: Journal | None, command: str, caller: Caller) -> None:
        self.waits = False  # the answer may be given only once `settle` has been awaited
        self._journal = journal
        self._command = command
        self._caller = caller
        self._begun = journal is None
        self._run: RunJournal | None = None  # until its end is written
        self._awaited: RunJournal | None = None

    def begin(self) -> None:
        """Write that the run begins, unless that is written."""
        if not self._begun and self._journal is not None:
            self._begun = True
            self._run = run = self._journal.begin(self._command, self._caller)
            if run is not None and run.waits:
                self.waits, self._awaited = True, run

    def add_notes(self, notes: Notes, *, failed: bool) -> None:
        """Say below the answer what was reused and, where the run failed, how the next one can go on."""
        if not self._begun:
            self.begin()
        if self._run is not None and (failed or self._run.reuse is not None):
            for line in self._run.notes(failed=failed):
                notes.add(line)

    def end(self, outcome: Outcome, answer: str) -> None:
        """Write how the run ended, and what was answered."""
        if not self._begun:
            self.begin()
        run, self._run = self._run, None
        if self._journal is not None and run is not None:
            failed = isinstance(outcome, Failure)
            how = "error" if failed else "nothing" if isinstance(outcome, Nothing) else "value"
            self._journal.end(run, how, error=error_kind(outcome) if failed else "", answer=answer)

    async def settle(self) -> str:
        """Wait until everything is written; say so if it is not."""
        try:
            if self._awaited is not None:
                await self._awaited.settle()
        except OSError as error:
            return f"This run is not in the journal: {error.strerror or error}."
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._begun:
            self.begin()
        if self._journal is not None and self._run is not None:
            self._journal.end(self._run, CANCELLED, error="" if kind is None else kind.__name__)
            self._run = None
