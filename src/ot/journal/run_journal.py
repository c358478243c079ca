"""The journal of one run, while it lasts: every line of it is written here, in its turn.

That a call begins which may have an effect is written before it does, with all that was there to write by then. How
calls have ended is written a moment later, so that code does not wait for it, and in any case before the next call with
effect and before the answer of the run. Whatever cannot be written is no reason to refuse a call; but the run can then
not be resumed, and says so.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from mcp_core.json_types import JsonObject
from ot.clients.caller import ClientMemory
from ot.effects import Effect
from ot.journal.open_call import OpenCall
from ot.journal.recorded import CallOutcome, RecordedCall, describe
from ot.journal.reuse import Reuse
from ot.logs import write_log
from ot.store.owner import StoreUnavailableError, TakenOverError
from ot.store.parts import WHOLE, JournalStore, Mark, Place
from ot.values import ToolValue
from ot_kernel.wire import pack

if TYPE_CHECKING:
    from ot.journal.planned import PlannedCall
    from ot.journal.run_changes import RunChanges

INLINE = 16 * 1024  # bytes of arguments or of a value in a line
LONGEST_ANSWER = 20_000  # characters
LONGEST_REASON = 2_000  # characters
WORTH_KEEPING = 1.0  # seconds that calls took which only read
_VALUE, _WENT_WELL = b'"value":', b'"outcome":"value",'
_TOO_MUCH = "its calls returned more than a run may keep (journal.max_size)"
_OPENING = Lock()  # the place for what a run changes

Later: TypeAlias = Callable[[Callable[[], None]], object]


class RunJournal:
    """Writes the lines of one run; on the thread of the event loop."""

    def __init__(
        self,
        store: JournalStore,
        beginning: bytes,
        *,
        run: str,
        memory: ClientMemory,
        most_bytes: int,
        later: Later | None = None,
        open_changes: Callable[[], RunChanges] | None = None,
    ) -> None:
        """`later` calls a function in a moment; without it every line is written at once.

        `memory` is the client's: whoever reads its words later has read what it had when it wrote them. `open_changes`
        gives the place for what its calls change.
        """
        self.run = run
        self.waits = store.waits  # lines are certain to be there only once `settle` has been awaited
        self.lost = ""  # why it cannot be resumed, if so
        self._gone: StoreUnavailableError | None = None  # that was the reason
        self.reuse: Reuse | None = None
        self.made = 0
        self.verbatim = True  # its command has no secret in it
        self._store = store
        self._memory = memory
        self._beginning = beginning + b'"n":'  # of each line
        self._room = most_bytes
        self._later = later
        self._due = False  # to be flushed in a moment
        self._waiting: list[bytes] = []  # lines that are still to be written
        self._mark: Mark | None = None
        self._lines = 0
        self._state = 0  # identifies the effects so far, in any order
        self._effects = 0  # calls with side effects in progress
        self._kept = 0  # calls that a later run need not make
        self._worth = False
        self._reading = 0.0  # seconds
        self._unknown: list[str] = []  # tools with a call whose outcome is unknown
        self._started = time.perf_counter()
        self._open_changes = open_changes
        self._changes: RunChanges | None = None

    @property
    def changes(self) -> RunChanges | None:
        """The place for what calls are about to change, made on first need; on whatever thread."""
        if self._open_changes is None:
            return None
        with _OPENING:
            if self._changes is None:
                self._changes = self._open_changes()
        return self._changes

    @property
    def state(self) -> int | None:
        """A number that identifies the effects so far; None while one is in progress."""
        return None if self._effects else self._state

    # -- the run

    def start(self, facts: JsonObject) -> None:
        line = self._line(b"start", {**facts, **self._read()}, WHOLE + b",")
        try:
            self._mark = self._store.begin(line)
        except OSError as error:
            self._lose(error)

    def note_resuming(self, run: str) -> None:
        """Write that this run is about to take another one over; its calls are inherited only later."""
        self._waiting.append(self._line(b"resuming", {"from": run}))
        self.flush()

    def word_resumed(self, reuse: Reuse) -> bytes:
        """Word the lines about the calls of another run; on whatever thread, before this one makes any."""
        of = self._line(b"resume", {"of": reuse.run})
        return of + b"".join([self._line(b"inherited", describe(call)) for call in reuse.left])

    def resume(self, reuse: Reuse, lines: bytes) -> None:
        """Go on from the calls of another run, which this journal has as well from now on."""
        self.reuse = reuse
        self._waiting.append(lines)
        self.flush()

    def preview(self) -> None:
        """Write that this run only lists what it would do."""
        self._put_off(self._line(b"preview", {"verbatim": self.verbatim}))

    def plan(self, call: PlannedCall) -> None:
        """Write down a call that would be made."""
        self._put_off(self._line(b"planned", call.describe()))

    def end(self, facts: JsonObject) -> None:
        if self._waiting:
            self.flush()
        seconds = time.perf_counter() - self._started
        line = self._line(b"ended", {**facts, **self._read(), "seconds": round(seconds, 6)})
        if self._mark is not None:
            try:
                self._store.append(line)
            except OSError as error:
                self._lose(error)
        if self._changes is not None:
            self._changes.finish()

    # -- calls

    def begin(
        self,
        tool: str,
        effect: Effect,
        given: bytes,
        arguments: dict[str, ToolValue] | None = None,
        *,
        continued: RecordedCall | None = None,
    ) -> OpenCall:
        """Note that a call begins, and write it if it may have an effect, or goes on with the task of another one."""
        self.made += 1
        call = OpenCall(tool, effect, given, arguments, None if self._effects else self._state, self)
        if continued is not None:
            self._waiting.append(self._line(b"reused", {"call": continued.number, "dropped": True}))
        if effect is not Effect.READS:
            self._waiting.append(self._begin_line(call))
            if continued is None:
                self.flush()
            self._effects += 1
            self._state ^= call.number
        if continued is not None:
            self.note_task(call, dict(continued.task or {}))
        return call

    def _begin_line(self, call: OpenCall) -> bytes:
        self._lines += 1
        given = call.given + b"," + _fields(self._read()) if self._memory.read else call.given
        begun = self._beginning, self._lines, call.number, call.time * 1000, given
        return b'%b%d,"event":"begin","call":%d,"ms":%d,%b}\n' % begun

    def note_task(self, call: OpenCall, task: JsonObject | None) -> None:
        """Write that a call goes on as a task of another server, or does no more; then it is there."""
        if call.effect is Effect.READS and call.task is None:
            self._waiting.append(self._begin_line(call))
        call.task = task
        facts: JsonObject = {"call": call.number, "task": task}
        if call.effect is Effect.READS and call.state is not None:
            facts["world"] = call.state
        self._waiting.append(self._line(b"task", facts))
        self.flush()

    def succeed(self, call: OpenCall, packed: bytes, marks: Collection[str]) -> None:
        """Note the value of a call, as the code got it."""
        self._kept += 1
        outcome = _WENT_WELL + call.kept
        if marks:
            outcome += _fields({"marks": [*sorted(marks)]}) + b","
        self._finish(call, outcome, b"{}" if call.kept else packed, went_well=True)

    def succeed_without_value(self, call: OpenCall) -> None:
        """Note that a call ended well, and that its value could not be kept."""
        self.succeed(call, b"{}", ())

    def fail(self, call: OpenCall, reason: str, *, kind: str, unknown: bool) -> None:
        """Note that a call failed, or that nobody knows whether it was carried out."""
        outcome = CallOutcome.UNKNOWN if unknown else CallOutcome.ERROR
        if unknown and not call.effect.repeatable:
            self._unknown.append(call.tool)
        facts: JsonObject = {"outcome": outcome, "reason": reason[:LONGEST_REASON], "kind": kind}
        self._finish(call, _fields(facts) + b",", b"{}", went_well=False)

    def abandon(self, call: OpenCall) -> None:
        """Give up a call that was cancelled: that it began is written, and nobody knows how it ended."""
        if not call.effect.repeatable:
            self._unknown.append(call.tool)

    def give(self, call: RecordedCall, *, skipped: bool = False, dropped: bool = False) -> None:
        """Write that a call taken from the earlier run answers one of this run, counts as made, or is made again."""
        assert self.reuse is not None
        how: JsonObject = {"skipped": True} if skipped else {"dropped": True} if dropped else {}
        self._put_off(self._line(b"reused", {"call": call.number, **how}))
        if dropped:
            return
        self.made += 1
        self.reuse.given += 1
        self._kept += 1
        if call.effect is not Effect.READS:
            self._state ^= call.number
            self._worth = True

    def keep_value(self, packed: bytes) -> bytes:
        """Write a large value beside the lines, on whatever thread; return the field that says where."""
        return self._keep(b"value_at", value_in(packed)) + b","

    def keep_arguments(self, data: bytes) -> bytes:
        """Write large arguments beside the lines, on whatever thread; return the field that says where."""
        return self._keep(b"arguments_at", data)

    async def settle(self) -> None:
        """Wait until all lines are there; raises OSError where the store was gone meanwhile, and TakenOverError."""
        if self._gone is None:
            try:
                await self._store.settle()
            except OSError as error:
                self._lose(error)
        if self._gone is not None:
            raise self._gone
        self.check_owner()

    def check_owner(self) -> None:
        """Raise TakenOverError if another run goes on from this one; asked between a line and its effect."""
        if heir := self._store.taken_by(self.run):
            raise TakenOverError(heir)

    def flush(self) -> None:
        """Write the lines that wait."""
        if not self._waiting:
            return
        lines = b"".join(self._waiting)
        self._waiting.clear()
        if self.lost:
            return
        self._room -= len(lines)
        try:
            if self._room < 0:
                raise OSError(_TOO_MUCH)
            self._store.append(lines)
        except OSError as error:
            self._lose(error)

    # -- what is said of it below an answer

    def notes(self, *, failed: bool) -> list[str]:
        """Word how many calls were reused and, below an error, how the next run can go on."""
        notes = []
        if self.reuse is not None:
            given, made = self.reuse.given, self.made - self.reuse.given
            notes.append(f"Calls: {_were(given)} answered from run {self.reuse.run}, {_were(made)} made.")
        left = self.reuse.left if self.reuse is not None else []
        if failed and (self._worth or left or self._unknown or self._reading >= WORTH_KEEPING):
            notes.append(self._way_on(left))
        return notes

    def _way_on(self, left: list[RecordedCall]) -> str:
        if heir := self._store.taken_by(self.run):
            return f"This run cannot be resumed: run {heir} has taken it over."
        if self.lost:
            return f"This run cannot be resumed: {self.lost}."
        kept = self._kept + sum(1 for call in left if call.outcome is CallOutcome.VALUE)
        unknown = [*self._unknown, *(call.tool for call in left if call.outcome is not CallOutcome.VALUE)]
        way = f'To keep what was done ({_calls(kept)}), begin the corrected code with ot.resume(run="{self.run}").'
        return f"{way} The outcome of these calls is unknown: {', '.join(dict.fromkeys(unknown))}." if unknown else way

    # -- lines

    def _finish(self, call: OpenCall, outcome: bytes, packed: bytes, *, went_well: bool) -> None:
        """Note how a call has ended, and of one that only read that it began.

        `outcome` is fields of a line, each with a comma; `packed` the message to the kernel, or an empty one.
        """
        seconds = time.perf_counter() - call.began
        self._lines += 1
        took = int(seconds * 1e6)
        if call.effect is Effect.READS:
            self._reading += seconds if went_well else 0.0
            changed = self._effects or call.state != self._state
            state = -1 if changed or call.state is None else call.state
            form = b'%b%d,"event":"read","call":%d,"ms":%d,%b,"world":%d,"us":%d,%b"got":%b}\n'
            begun = self._beginning, self._lines, call.number, int(call.time * 1000), call.given
            line = form % (*begun, state, took, outcome, packed)
        else:
            self._effects -= 1
            self._worth = self._worth or went_well
            form = b'%b%d,"event":"end","call":%d,"us":%d,%b"got":%b}\n'
            line = form % (self._beginning, self._lines, call.number, took, outcome, packed)
        self._put_off(line)

    def _put_off(self, line: bytes) -> None:
        """Have a line written in a moment, with all others that there are by then."""
        self._waiting.append(line)
        if self._later is None:
            self.flush()
        elif not self._due:
            self._due = True
            self._later(self._flush_due)

    def _flush_due(self) -> None:
        self._due = False
        self.flush()

    def _line(self, event: bytes, facts: JsonObject, before: bytes = b"") -> bytes:
        self._lines += 1
        return b'%b%d,"event":"%b",%b%b\n' % (self._beginning, self._lines, event, before, pack(facts)[1:])

    def _keep(self, field: bytes, data: bytes) -> bytes:
        """Write something large beside the lines and return the field that says where."""
        place: Place | None = None
        self._room -= len(data)
        try:
            if self._room < 0:
                raise OSError(_TOO_MUCH)
            place = None if self.lost else self._store.keep(self._beginning, data)
        except OSError as error:
            self._lose(error)
        return b'"%b":%b' % (field, json.dumps(place).encode("ascii"))

    def _read(self) -> JsonObject:
        """Return what the client has read by now, as a field of a line."""
        return {"read": [*sorted(self._memory.read)]} if self._memory.read else {}

    def _lose(self, error: OSError) -> None:
        """Give up: a run of which a line is missing would repeat what it has done."""
        if self.lost:
            return
        if isinstance(error, StoreUnavailableError):
            self._gone = error
        self.lost = f"its journal could not be written: {error.strerror}" if error.strerror else str(error)
        write_log(logging.WARNING, "journal.write", run=self.run, error=self.lost)
        if self._mark is not None:
            try:
                self._store.spoil(self._mark)
            except OSError as again:
                write_log(logging.ERROR, "journal.spoil", run=self.run, error=str(again))


def value_in(packed: bytes) -> bytes:
    """Return the value in a message to the code, encoded."""
    return packed[packed.index(_VALUE) + len(_VALUE) : -1]


def _fields(facts: JsonObject) -> bytes:
    return pack(facts)[1:-1]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"


def _were(count: int) -> str:
    return "1 was" if count == 1 else f"{count:,} were"
