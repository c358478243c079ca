"""The journal of an engine: opens that of each run, and lets a run go on from another."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from mcp_core.json_types import JsonObject
from ot.clients.caller import Caller
from ot.config.loader import LoadedConfig
from ot.config.models import JournalSettings
from ot.effects import Effect
from ot.errors import LateResumeError, RunNotResumableError, StoreGoneError, UnknownRunError
from ot.journal import recorded
from ot.journal.equality import Equality, Sources
from ot.journal.recorded import CallOutcome, DamagedRunError, RecordedCall, RecordedRun, read_run
from ot.journal.reuse import Replay, Reuse, Unknown
from ot.journal.run_journal import LONGEST_ANSWER, Later, RunJournal
from ot.store.forms import FORM
from ot.store.opening import Store
from ot.store.owner import Owner
from ot.store.parts import JournalStore, begin_line
from ot.tasks.owned_tasks import soon
from ot.text.redaction import Redactor
from ot_kernel.values import Encoded, decode_field

RESUME = "ot.resume"
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
    ) -> None:
        """`later` calls a function in a moment; without it every line is written at once."""
        self.store = store
        self.waits = store.waits  # for what is written; runs are refused where nothing can be
        self.equality = Equality(store.load_key)
        self.sources = Sources()
        self._settings = settings
        self._project = project
        self._redactor = redactor
        self._clock = clock
        self._later = later
        self.open_runs: dict[str, RunJournal] = {}  # that go on in this process, by name
        self.replays: dict[str, Replay] = {}  # by the name of the run whose calls each answers

    def begin(self, command: str, caller: Caller) -> RunJournal | None:
        """Open the journal of a run that begins, unless the configuration wants none; `end` closes it."""
        if not self._settings.enabled or caller.run_id in self.replays:
            return None
        beginning = begin_line(Owner(caller.principal, self._project), caller.run_id)
        most_bytes = self._settings.max_size // _RUNS
        run = RunJournal(
            self.store, beginning, run=caller.run_id, memory=caller.memory, most_bytes=most_bytes, later=self._later
        )
        command = self._redactor.text(command) if self._redactor.active else command
        about: JsonObject = {"time": round(self._clock(), 3), "client": caller.client, "command": command}
        run.start({FORM: recorded.FORM_OF_LINES, **about})
        self.open_runs[run.run] = run
        return run

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
        found = await anyio.to_thread.run_sync(self.find, caller.principal, run)
        if not found.whole:
            raise RunNotResumableError(run, "not all of its calls could be written to the journal")
        caller.memory.note(found.read)
        reuse = Reuse(run, (*found.calls, *found.left), unknown)
        mine.resume(reuse, await anyio.to_thread.run_sync(mine.word_resumed, reuse))
        if mine.waits:
            try:
                await mine.settle()  # else what the other run did would be done again by whoever goes on from this one
            except OSError as error:
                raise RunNotResumableError(run, error.strerror or str(error)) from error
        return _summary(run, reuse.left)

    # -- reading; blocking

    def find(self, principal: str, run: str, *, ended: bool = True) -> RecordedRun:
        """Read a run, which must have ended if `ended`; raises UnknownRunError or RunNotResumableError."""
        try:
            kept = self.store.read(self._owner(principal), run)
            found = None if kept is None else read_run(kept.lines, self.equality)
        except OSError as error:
            raise RunNotResumableError(run, f"the journal cannot be read: {error.strerror or error}") from error
        except DamagedRunError as error:
            raise RunNotResumableError(run, str(error)) from error
        if kept is None or found is None or self._is_old(found.time):
            raise UnknownRunError(run)
        if ended and not found.outcome and kept.in_use and found.whole:
            raise RunNotResumableError(run, "it is still running")
        return found

    def recent(self, principal: str) -> list[RecordedRun]:
        """List the runs of this principal and project without their calls, the oldest first."""
        starts: dict[str, JsonObject] = {}
        rest: dict[str, JsonObject] = {}
        for raw in self.store.read_events(self._owner(principal), (recorded.START, "resume", "ended")):
            line: JsonObject = json.loads(raw)
            run = str(line["run"])
            if line["event"] != recorded.START:
                rest.setdefault(run, {}).update(line)
            elif line.get(FORM, recorded.FORM_OF_LINES) == recorded.FORM_OF_LINES:
                starts[run] = line
        runs = (recorded.summarize(start, rest.get(name, {})) for name, start in starts.items())
        return sorted((each for each in runs if not self._is_old(each.time)), key=lambda each: each.time)

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


def _summary(run: str, calls: list[RecordedCall]) -> JsonObject:
    unknown = [c for c in calls if c.outcome is CallOutcome.UNKNOWN and not c.effect.repeatable]
    facts: JsonObject = {
        "run": run,
        "calls": len(calls) - len(unknown),
        "with_effect": sum(1 for call in calls if call.effect is not Effect.READS) - len(unknown),
    }
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
    return Journal(store.journal, loaded.config.journal, project=loaded.project, redactor=loaded.redactor, later=soon)
