"""The journal of one run, while it lasts: every line of it is written here, in its turn.

A call that may have an effect is written before it begins and when it has ended; one that reads is one line at its end.
All of it is written before the code gets the value. Whatever cannot be written is no reason to refuse a call; but
the run can then not be resumed, and says so.
"""

from __future__ import annotations

import json
import logging
import random
import time
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

import anyio.to_thread

from mcp_core.json_types import JsonObject
from ot.effects import Effect
from ot.journal.recorded import Outcome, RecordedCall, describe
from ot.journal.reuse import Reuse
from ot.logs import write_log
from ot.store.journal_store import JournalStore, Mark, Place

INLINE = 16 * 1024  # bytes of arguments or of a value in a line
ASIDE = 256 * 1024  # bytes that are not written while others wait
LONGEST_ANSWER = 20_000  # characters
LONGEST_REASON = 2_000  # characters
WORTH_KEEPING = 1.0  # seconds that calls took which only read
_VALUE = b'"value":'
_BITS = 52  # of the number of a call: JSON everywhere has that many


@dataclass(slots=True)
class OpenCall:
    """One call that goes on: its fields as they are written, and the world in which it began."""

    number: int
    effect: Effect
    fields: bytes
    world: int | None
    began: float
    marked: bool = False  # its beginning is written


class RunJournal:
    """Writes the lines of one run; on the thread of the event loop."""

    def __init__(self, store: JournalStore, beginning: bytes, *, run: str, most_bytes: int) -> None:
        self.run = run
        self.lost = ""  # why it cannot be resumed, if so
        self.reuse: Reuse | None = None
        self.made = 0
        self._store = store
        self._beginning = beginning  # of each line
        self._room = most_bytes
        self._mark: Mark | None = None
        self._lines = 0
        self._world = 0  # stands for the effects so far, whatever their order
        self._effects = 0  # calls with effect that go on
        self._kept = 0  # calls that a later run need not make
        self._worth = False
        self._reading = 0.0  # seconds
        self._unknown: list[str] = []  # tools of which nobody knows how their call ended
        self._started = time.perf_counter()

    @property
    def world(self) -> int | None:
        """Stands for the effects so far; None while one goes on."""
        return None if self._effects else self._world

    # -- the run

    def start(self, facts: JsonObject) -> None:
        line = self._line("start", b'"whole":1,' + _fields(facts))
        try:
            self._mark = self._store.begin(line)
        except OSError as error:
            self._lose(error)

    def resume(self, reuse: Reuse) -> None:
        """Go on from the calls of another run, which this journal has as well from now on."""
        self.reuse = reuse
        of = self._line("resume", _fields({"of": reuse.run}))
        self._append(of + b"".join(self._line("inherited", _fields(describe(call))) for call in reuse.left))

    def end(self, facts: JsonObject) -> None:
        seconds = time.perf_counter() - self._started
        line = self._line("ended", _fields({**facts, "seconds": round(seconds, 6)}))
        if self._mark is not None:
            try:
                self._store.append(line)
            except OSError as error:
                self._lose(error)

    # -- calls

    def prepare(self, tool: str, effect: Effect, given: bytes) -> OpenCall:
        """Note that a call is about to be made; `given` are its arguments as fields of a line."""
        self.made += 1
        number = random.getrandbits(_BITS)
        now = time.time()
        fields = b'"call":%d,"tool":%b,"effect":"%b","time":%.3f,%b' % (
            number,
            encode_basestring_ascii(tool).encode("ascii"),
            effect.encode("ascii"),
            now,
            given,
        )
        return OpenCall(number, effect, fields, self.world, time.perf_counter())

    def begin(self, call: OpenCall) -> None:
        """Write that a call begins which may have an effect."""
        self._append(self._line("begin", call.fields))
        call.marked = True
        self._effects += 1
        self._world ^= call.number

    async def succeed(self, call: OpenCall, packed: bytes, marks: frozenset[str]) -> None:
        """Write the value of a call, as it is about to be given to the code; of an empty one only that it ended."""
        if not packed:
            self.succeed_without_value(call)
            return
        value = packed[packed.index(_VALUE) + len(_VALUE) : -1]
        field = b'"value":' + value if len(value) <= INLINE else await self._aside(b"value_at", value)
        if marks:
            field += b"," + _fields({"marks": sorted(marks)})
        self._finish(call, b"%b,%b" % (_ended_well(call), field))
        self._note(call, kept=True)

    def succeed_without_value(self, call: OpenCall) -> None:
        """Write that a call ended well, and that its value could not be kept."""
        self._finish(call, _ended_well(call))
        self._note(call, kept=False)

    def fail(self, call: OpenCall, tool: str, reason: str, *, kind: str, unknown: bool) -> None:
        """Write that a call failed, or that nobody knows whether it was carried out."""
        facts: JsonObject = {
            "outcome": Outcome.UNKNOWN if unknown else Outcome.ERROR,
            "reason": reason[:LONGEST_REASON],
            "kind": kind,
        }
        seconds = time.perf_counter() - call.began
        self._finish(call, _fields({**facts, "seconds": round(seconds, 6)}))
        if unknown and not call.effect.repeatable:
            self._unknown.append(tool)

    def abandon(self, call: OpenCall, tool: str) -> None:
        """Leave a call that was cancelled: that it began is written, and nobody knows how it ended."""
        if call.marked and not call.effect.repeatable:
            self._unknown.append(tool)

    def give(self, call: RecordedCall, *, skipped: bool = False, dropped: bool = False) -> None:
        """Write that a call taken from the earlier run answers one of this run, counts as made, or is made again."""
        assert self.reuse is not None
        how: JsonObject = {"skipped": True} if skipped else {"dropped": True} if dropped else {}
        self._append(self._line("reused", _fields({"call": call.number, **how})))
        if dropped:
            return
        self.made += 1
        self.reuse.given += 1
        self._kept += 1
        if call.effect is not Effect.READS:
            self._world ^= call.number
            self._worth = True

    def keep_large(self, data: bytes) -> bytes:
        """Write large arguments beside the lines; return the field that says where."""
        return self._keep(b"arguments_at", data)

    # -- what is said of it below an answer

    def notes(self, *, failed: bool) -> list[str]:
        """Word how many calls were reused and, below an error, how the next run can go on."""
        notes = []
        if self.reuse is not None:
            given, made = self.reuse.given, self.made - self.reuse.given
            notes.append(f"Calls: {_were(given)} answered from run {self.reuse.run}, {_were(made)} made.")
        if failed and self._is_worth_keeping():
            notes.append(self._way_on())
        return notes

    def _is_worth_keeping(self) -> bool:
        inherited = self.reuse is not None and bool(self.reuse.left)
        return self._worth or inherited or bool(self._unknown) or self._reading >= WORTH_KEEPING

    def _way_on(self) -> str:
        if self.lost:
            return f"This run cannot be resumed: {self.lost}."
        left = self.reuse.left if self.reuse is not None else []
        kept = self._kept + sum(1 for call in left if call.outcome is Outcome.VALUE)
        unknown = [*self._unknown, *(call.tool for call in left if call.outcome is not Outcome.VALUE)]
        way = f'To keep what was done ({_calls(kept)}), begin the corrected code with ot.resume(run="{self.run}").'
        return f"{way} Nobody knows how this ended: {', '.join(dict.fromkeys(unknown))}." if unknown else way

    # -- lines

    def _note(self, call: OpenCall, *, kept: bool) -> None:
        self._kept += kept
        if call.effect is Effect.READS:
            self._reading += time.perf_counter() - call.began
        else:
            self._worth = True

    def _finish(self, call: OpenCall, outcome: bytes) -> None:
        if call.marked:
            self._effects -= 1
            self._append(self._line("end", b'"call":%d,%b' % (call.number, outcome)))
            return
        same = call.world is not None and call.world == self.world
        world = b',"world":%d' % call.world if same and call.world is not None else b""
        self._append(self._line("read", b"%b,%b%b" % (call.fields, outcome, world)))

    def _line(self, event: str, fields: bytes) -> bytes:
        self._lines += 1
        return b'%b"n":%d,"event":"%b",%b}\n' % (self._beginning, self._lines, event.encode("ascii"), fields)

    def _append(self, lines: bytes) -> None:
        if self.lost:
            return
        self._room -= len(lines)
        try:
            if self._room < 0:
                raise OSError("its calls gave more than a run may keep (journal.max_size)")
            self._store.append(lines)
        except OSError as error:
            self._lose(error)

    async def _aside(self, field: bytes, data: bytes) -> bytes:
        if len(data) <= ASIDE:
            return self._keep(field, data)
        return await anyio.to_thread.run_sync(self._keep, field, data)

    def _keep(self, field: bytes, data: bytes) -> bytes:
        """Write something large beside the lines and return the field that says where."""
        place: Place | None = None
        self._room -= len(data)
        try:
            if self._room < 0:
                raise OSError("its calls gave more than a run may keep (journal.max_size)")
            place = self._store.keep(data)
        except OSError as error:
            self._lose(error)
        return b'"%b":%b' % (field, json.dumps(place).encode("ascii"))

    def _lose(self, error: OSError) -> None:
        """Give up: a run of which a line is missing would repeat what it has done."""
        if self.lost:
            return
        self.lost = f"its journal could not be written: {error.strerror}" if error.strerror else str(error)
        write_log(logging.WARNING, "journal.write", run=self.run, error=self.lost)
        if self._mark is not None:
            try:
                self._store.spoil(self._mark)
            except OSError as again:
                write_log(logging.ERROR, "journal.spoil", run=self.run, error=str(again))


def _ended_well(call: OpenCall) -> bytes:
    return b'"outcome":"value","seconds":%.6f' % (time.perf_counter() - call.began)


def _fields(facts: JsonObject) -> bytes:
    return json.dumps(facts, separators=(",", ":"))[1:-1].encode("ascii")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"


def _were(count: int) -> str:
    return "1 was" if count == 1 else f"{count:,} were"
