"""The journal of an engine: opens that of each run, and lets a run go on from another."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

import ot.journal
from mcp_core.json_types import JsonObject
from ot.clients.caller import Caller
from ot.config.loader import LoadedConfig
from ot.config.models import JournalSettings
from ot.effects import Effect
from ot.errors import (
    LatePreviewError,
    LateResumeError,
    NoPreviewError,
    PreviewNotAppliedError,
    RunNotResumableError,
    RunNotUndoableError,
    StoreGoneError,
    UnknownRunError,
)
from ot.journal import recorded
from ot.journal.equality import Equality, Sources
from ot.journal.recorded import CallOutcome, DamagedRunError, RecordedCall, RecordedRun, read_run
from ot.journal.reuse import Replay, Reuse, Unknown
from ot.journal.run_journal import LONGEST_ANSWER, Later, RunJournal
from ot.store.forms import FORM
from ot.store.opening import Store
from ot.store.owner import Owner, word_unreachable
from ot.store.parts import MOST_RUNS, ChangeStore, FoundRun, JournalStore, begin_line
from ot.tasks.owned_tasks import soon
from ot.text.redaction import Redactor
from ot_kernel.values import Encoded, decode_field

if TYPE_CHECKING:
    from ot.journal.run_changes import KeptChanges, RunChanges

RESUME, PREVIEW, APPLY = "ot.resume", "ot.preview", "ot.apply"
_RUNS = 4  # that the journal has room for, however large they are


class Journal:
    """Finds the journal of a run by its name: of those that go on in this process, and of those that have ended."""

    def __init__(
        self,
        store: JournalStore,
        settings: JournalSettings,
        *,
        project: Path,
        redactor: Redactor,
        clock: Callable[[], float] = time.time,
        later: Later | None = None,
        open_changes: Callable[[], ChangeStore] | None = None,
    ) -> None:
        """`later` calls a function in a moment; without it every line is written at once.

        `open_changes` gives the store of what calls change; without it none of that is kept.
        """
        self.store = store
        self.waits = store.waits  # for what is written; runs are refused where nothing can be
        self.equality = Equality(store.load_key)
        self.sources = Sources()
        self._settings = settings
        self._project = project
        self._redactor = redactor
        self._clock = clock
        self._later = later
        self._open_changes = open_changes
        self.open_runs: dict[str, RunJournal] = {}  # that go on in this process, by name
        self.heard_takeover: Callable[[], None] = lambda: (
            None
        )  # hears of each run that was lost, and goes on in another
        self._undoing: dict[str, anyio.Lock] = {}  # by the name of the run that is undone
        self.replays: dict[str, Replay] = {}  # by the name of the run whose calls each answers

    def begin(self, command: str, caller: Caller) -> RunJournal | None:
        """Open the journal of a run that begins, unless the configuration wants none; `end` closes it."""
        if not self._settings.enabled or caller.run_id in self.replays:
            return None
        beginning = begin_line(Owner(caller.principal, self._project), caller.run_id)
        most_bytes = self._settings.max_size // _RUNS
        run = RunJournal(
            self.store,
            beginning,
            run=caller.run_id,
            memory=caller.memory,
            most_bytes=most_bytes,
            later=self._later,
            open_changes=None if self._open_changes is None else partial(self._new_changes, self._open_changes, caller),
        )
        given, command = command, self._redactor.text(command) if self._redactor.active else command
        run.verbatim = command == given
        about: JsonObject = {"time": round(self._clock(), 3), "client": caller.client, "command": command}
        run.start({FORM: recorded.FORM_OF_LINES, **about})
        self.open_runs[run.run] = run
        return run

    def _new_changes(self, open_store: Callable[[], ChangeStore], caller: Caller) -> RunChanges:
        run = self._owner(caller.principal), caller.run_id
        return ot.journal.RunChanges(open_store(), run, most_bytes=self._settings.undo_size // 2)

    def end(self, run: RunJournal | None, outcome: str, *, error: str = "", answer: str = "") -> None:
        """Write how a run ended, and close its journal, unless that is done."""
        if run is None or self.open_runs.pop(run.run, None) is None:
            return
        shown = self._redactor.text(answer) if self._redactor.active else answer
        run.end({"outcome": outcome, "error": error, "answer": shown[:LONGEST_ANSWER]})

    async def admit(self) -> None:
        """Let a run begin; raises StoreGoneError where it could not be written down."""
        try:
            await self.store.ready()
        except OSError as error:
            raise StoreGoneError(error.strerror or str(error)) from error

    def play(self, run_id: str, run: RecordedRun, *, own: bool = True) -> Replay:
        """Let a run of this name, which is about to begin, be a replay of another; it has no journal of its own."""
        replay = self.replays[run_id] = Replay(run.calls, self.store, own=own)
        return replay

    async def resume(self, caller: Caller, run: str, unknown: Unknown) -> JsonObject:
        """Let the caller's run go on from another; return what it finds there. Raises CallError."""
        mine = self.open_runs.get(caller.run_id)
        if not self._settings.enabled:
            raise RunNotResumableError(run, "the journal is switched off (journal.enabled: false)")
        if mine is None:
            raise RunNotResumableError(run, "only code in a run can resume another run")
        if mine.made or mine.reuse is not None:
            raise LateResumeError(RESUME)
        mine.note_resuming(run)
        await _settle(mine, run)  # whoever looks for the owner of the other run finds this one
        found = await anyio.to_thread.run_sync(partial(self.take_over, caller.principal, run, mine.run, alone=True))
        caller.memory.note(found.read)
        reuse = Reuse(run, (*found.calls, *found.left), unknown)
        mine.resume(reuse, await anyio.to_thread.run_sync(mine.word_resumed, reuse))
        await _settle(mine, run)  # else what the other run did would be done again by whoever goes on from this one
        return _summary(run, reuse.left)

    async def preview(self, caller: Caller) -> RunJournal:
        """Let the caller's run be a preview, and return its journal; raises LatePreviewError or NoPreviewError."""
        mine = self.open_runs.get(caller.run_id)
        if not self._settings.enabled:
            raise NoPreviewError("the journal is switched off (journal.enabled: false)")
        if mine is None:
            raise NoPreviewError("only code in a run can be previewed")
        if mine.made or mine.reuse is not None:
            raise LatePreviewError(PREVIEW)
        mine.preview()
        return mine

    async def take_preview(self, caller: Caller, name: str, chosen: frozenset[int] | None = None) -> RecordedRun:
        """Find a preview that is about to be applied, which happens once; raises CallError.

        `chosen` are the numbers of the calls to be made, if not all are.
        """

        def take() -> RecordedRun:
            kept, found = self._read_ended(caller.principal, name)
            _require_applicable(found, chosen)
            if kept.heirs or not self.store.take(self._owner(caller.principal), name, caller.run_id, 2):
                raise PreviewNotAppliedError(name, "it was applied before; preview the code again")
            if not found.outcome:  # more may have been listed until it was taken over
                found = self._read(caller.principal, name)[1]
                _require_applicable(found, chosen)
            return found

        try:
            found = await anyio.to_thread.run_sync(take)
        except RunNotResumableError as error:
            raise PreviewNotAppliedError(name, error.reason) from error
        except OSError as error:
            raise PreviewNotAppliedError(name, error.strerror or str(error)) from error
        caller.memory.note(found.read)
        return found

    # -- reading; blocking

    def find(self, principal: str, run: str, *, ended: bool = True) -> RecordedRun:
        """Read a run, which must have ended if `ended`; raises UnknownRunError or RunNotResumableError."""
        return (self._read_ended if ended else self._read)(principal, run)[1]

    def take_over(self, principal: str, run: str, heir: str, *, alone: bool = False) -> RecordedRun:
        """Let a run go on from one that has ended or was lost, which does nothing more itself from then on.

        With `alone`, no other may go on from it, nor have been lost while it did. Raises UnknownRunError or
        RunNotResumableError.
        """
        kept, found = self._read_ended(principal, run)
        if alone:
            _require_resumable(found)
            self._check_heirs(principal, run, kept, heir)
        elif found.outcome:
            return found
        self._take(principal, run, heir, kept)
        if not found.outcome:  # it may have done more until now
            self.heard_takeover()
            found = self._read(principal, run)[1]
            if alone:
                _require_resumable(found)
        return found

    def _take(self, principal: str, run: str, heir: str, kept: FoundRun) -> None:
        try:
            first = self.store.take(self._owner(principal), run, heir, len(kept.heirs) + 2)
        except OSError as error:
            raise RunNotResumableError(run, error.strerror or str(error)) from error
        if not first:
            raise RunNotResumableError(run, "another run has just taken it over")

    def _check_heirs(self, principal: str, run: str, kept: FoundRun, mine: str) -> None:
        """Raise RunNotResumableError where a run that took over this one goes on, or has done more.

        One that was lost before it had the calls of this run is taken over too.
        """
        while kept.heirs:
            heir = kept.heirs[-1]
            try:
                kept, found = self._read_ended(principal, heir)
                if not found.outcome and not found.resumed:
                    self._take(principal, heir, mine, kept)
                    self.heard_takeover()
                    found = self._read(principal, heir)[1]
            except UnknownRunError:  # it is no longer kept
                return
            except RunNotResumableError as error:
                raise RunNotResumableError(run, f"run {heir} goes on from it: {error.reason}") from error
            did_more = any(call.effect is not Effect.READS and not call.reused for call in found.calls)
            if found.resumed and (did_more or not found.outcome):
                how = "did more" if found.outcome else "was lost"
                way = f'go on from that one, with ot.resume(run="{heir}")'
                raise RunNotResumableError(run, f"run {heir} went on from it and {how}; {way}")

    def _read(self, principal: str, run: str) -> tuple[FoundRun, RecordedRun]:
        try:
            kept = self.store.read(self._owner(principal), run)
            found = None if kept is None else read_run(kept.lines, self.equality)
        except OSError as error:
            raise RunNotResumableError(run, f"the journal cannot be read: {error.strerror or error}") from error
        except DamagedRunError as error:
            raise RunNotResumableError(run, str(error)) from error
        if kept is None or found is None or self._is_old(found.time):
            raise UnknownRunError(run)
        return kept, found

    def _read_ended(self, principal: str, run: str) -> tuple[FoundRun, RecordedRun]:
        """Read a run that has ended or was lost."""
        kept, found = self._read(principal, run)
        if not found.outcome and kept.in_use and found.whole:
            raise RunNotResumableError(run, word_unreachable(kept.lost_in) if kept.lost_in else "it is still running")
        return kept, found

    def changes_of(self, run: RecordedRun) -> KeptChanges:
        """Read what the calls of a run have changed; raises RunNotUndoableError."""
        if self._open_changes is None:
            raise RunNotUndoableError(run.id, "nothing is kept of what runs change")
        try:
            return ot.journal.KeptChanges(self._open_changes(), (self._owner(run.principal), run.id))
        except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
            reason = f"what it changed cannot be read: {getattr(error, 'strerror', None) or error}"
            raise RunNotUndoableError(run.id, reason) from error

    @asynccontextmanager
    async def undoing(self, run: str) -> AsyncIterator[None]:
        """Let one undo of a run come after another: what the first has put back, the second one finds."""
        lock = self._undoing.setdefault(run, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._undoing.pop(run, None)

    def recent(self, principal: str, *, most: int = MOST_RUNS) -> list[RecordedRun]:
        """List the latest runs of this principal and project without their calls, the oldest first."""
        starts: dict[str, JsonObject] = {}
        rest: dict[str, JsonObject] = {}
        for raw in self.store.read_events(self._owner(principal), (recorded.START, "resume", "ended"), most=most):
            line: JsonObject = json.loads(raw)
            run = str(line["run"])
            if line["event"] != recorded.START:
                rest.setdefault(run, {}).update(line)
            elif line.get(FORM, recorded.FORM_OF_LINES) == recorded.FORM_OF_LINES:
                starts[run] = line
        runs = (recorded.summarize(start, rest.get(name, {})) for name, start in starts.items())
        return sorted((each for each in runs if not self._is_old(each.time)), key=lambda each: each.time)[-most:]

    def going_on(self, runs: Iterable[RecordedRun]) -> list[RecordedRun]:
        """Return those of these runs that go on at this moment, in whichever process, with the calls so far."""
        found: list[RecordedRun] = []
        for run in runs:
            read = None if run.outcome else self.store.read(self._owner(run.principal), run.id)
            if read is not None and read.in_use:
                with suppress(DamagedRunError):
                    found.append(read_run(read.lines, self.equality))
        return [run for run in found if not run.outcome]

    def _is_old(self, began: float) -> bool:
        return began < self._clock() - self._settings.keep_for

    def _owner(self, principal: str) -> Owner:
        return Owner(principal, self._project)


def _require_resumable(found: RecordedRun) -> None:
    """Raise RunNotResumableError where the journal does not have what a run has done."""
    if not found.whole:
        raise RunNotResumableError(found.id, "not all of its calls could be written to the journal")
    if found.resuming and not found.resumed and not found.calls:
        reason = f'it was about to go on from run {found.resuming}, and did not; ot.resume(run="{found.resuming}") does'
        raise RunNotResumableError(found.id, reason)


def _require_applicable(found: RecordedRun, chosen: frozenset[int] | None) -> None:
    """Raise PreviewNotAppliedError where a run is no preview that can be applied."""
    reason = ""
    if not found.preview:
        reason = "that run was no preview"
    elif not found.whole:
        reason = "not all of it could be written to the journal"
    elif not found.verbatim:
        reason = "its code has a secret in it, so it was not kept; run the code itself"
    elif chosen is not None and (not chosen or max(chosen) > len(found.planned) or min(chosen) < 1):
        reason = f"calls must name calls of its list, which has {len(found.planned)}"
    if reason:
        raise PreviewNotAppliedError(found.id, reason)


async def _settle(mine: RunJournal, run: str) -> None:
    if mine.waits:
        try:
            await mine.settle()
        except OSError as error:
            raise RunNotResumableError(run, error.strerror or str(error)) from error


def _summary(run: str, calls: list[RecordedCall]) -> JsonObject:
    tasks = [c for c in calls if c.outcome is CallOutcome.UNKNOWN and c.task is not None]
    unknown = [c for c in calls if c.outcome is CallOutcome.UNKNOWN and c.task is None and not c.effect.repeatable]
    known = [c for c in calls if c not in tasks and c not in unknown]
    facts: JsonObject = {
        "run": run,
        "calls": len(known),
        "with_effect": sum(1 for call in known if call.effect is not Effect.READS),
    }
    if tasks:
        facts["tasks"] = [word_call(call) for call in tasks]
    if unknown:
        facts["unknown"] = [word_call(call) for call in unknown]
    return facts


def word_call(call: RecordedCall) -> str:
    """Word a call as code would write it, and when it was made."""
    return f"{call.tool}({word_arguments(call.arguments)}) at {time.strftime('%H:%M:%S', time.localtime(call.time))}"


def word_arguments(arguments: Encoded) -> str:
    """Word encoded arguments as code would write them, each shortened."""
    given = arguments if isinstance(arguments, dict) else {}
    return ", ".join(f"{name}={_brief(value)}" for name, value in given.items())


def _brief(value: object) -> str:
    if isinstance(value, dict) and value.get("$") == "rows":
        value = repr(decode_field(value))
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def open_journal(loaded: LoadedConfig, store: Store) -> Journal:
    """Open the journal of runs; nothing is written where the configuration switches it off, and nothing to close."""
    return Journal(
        store.journal,
        loaded.config.journal,
        project=loaded.project,
        redactor=loaded.redactor,
        later=soon,
        open_changes=store.open_changes,
    )
