"""The journal's step of a call: it is answered from an earlier run, or written before and after it is made."""

from __future__ import annotations

import json
import operator
import secrets
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from ot.effects import Effect
from ot.errors import (
    CallError,
    CallNotJournalledError,
    CallNotRecordedError,
    CallNotRepeatedError,
    RecordedFailureError,
    ServiceUnavailableError,
    ToolStoppedError,
    ToolTimeoutError,
)
from ot.execution.call import Call
from ot.execution.wording import builtin_kind, word_error
from ot.journal.journal import RESUME, Journal, word_arguments, word_call
from ot.journal.journalled_value import JournalledValue
from ot.journal.recorded import Outcome, RecordedCall
from ot.journal.replay import Replay
from ot.journal.reuse import Reuse, Unknown
from ot.journal.run_journal import INLINE, OpenCall, RunJournal
from ot.registry.definitions import Cancellation
from ot.results.masking import mask
from ot.tasks.large_values import LARGE_MESSAGE, FileValue, aside
from ot.text.redaction import Redactor
from ot.values import ToolValue
from ot_kernel.values import UnsupportedValueError, encode

UNJOURNALLED = frozenset({RESUME, "ot.runs", "ot.stop", "ot.wait"})
"""Tools that are about runs themselves: what they said of one is no answer later."""

_NO_END = (ServiceUnavailableError, ToolStoppedError, ToolTimeoutError)  # errors that do not say how a call ended
_NOTHING = b"null"
ASIDE = 256 * 1024  # bytes that are not written while others wait

Made = TypeVar("Made")

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def open_call(journal: Journal | None, call: Call, redactor: Redactor) -> CallJournal | None:
    """Return the step for a call of a run, or of one that is played again.

    A call inside a call is part of the outer one. That of a skill gives code, and it is the calls in there that count.
    """
    if journal is None or call.depth or call.tool.definition.cancellation is Cancellation.SKILL:
        return None
    run_id = call.caller.run_id
    run = journal.run_of(run_id) if call.name not in UNJOURNALLED else None
    replay = journal.replay_of(run_id) if run is None else None
    return None if run is None and replay is None else CallJournal(journal, run, replay, call, redactor)


class CallJournal(OpenCall):
    """One call in the journal of its run, while it lasts."""

    __slots__ = (
        "_bound",
        "_call",
        "_journal",
        "_kept",
        "_redactor",
        "_replay",
        "_run",
        "_source",
        "begun",
        "resumes",
        "reused",
    )

    def __init__(
        self, journal: Journal, run: RunJournal | None, replay: Replay | None, call: Call, redactor: Redactor
    ) -> None:
        self.tool, self.effect, self.given, self.marked = call.name, call.tool.effect, b"", False
        self.begun = False
        self.resumes = run is None or run.reuse is not None  # an earlier run may answer it
        self.reused = False  # it was answered from an earlier run
        self._bound: dict[str, ToolValue] | None = None
        self._kept = b""  # where its large value lies
        self._call = call
        self._redactor = redactor
        self._journal = journal
        self._run = run
        self._replay = replay
        self._source = journal.sources.of(call.tool.definition)

    async def reuse(self, bound: dict[str, ToolValue]) -> JournalledValue | None:
        """Return the value of an equal call in the run that this one goes on from; None where there is none.

        Raises CallNotRepeatedError and, in a replay, RecordedFailureError and CallNotRecordedError.
        """
        if self._replay is not None:
            return await self._play(self._replay, bound)
        if self._run is None or self._run.reuse is None:
            return None
        reuse = self._run.reuse
        digest = await self._aside(self._digest, bound)
        while (found := reuse.find(digest, self._run.world)) is not None:
            if found.outcome is Outcome.UNKNOWN:
                return self._settle(self._run, reuse, found, "and nobody knows how it ended")
            reuse.take(found)
            value = await self._value_of(found)
            if value is not None:
                self._run.give(found)
                self._mark(found)
                self.reused = True
                return JournalledValue(value)
            if found.effect is not Effect.READS:
                reuse.put_back(found)
                return self._settle(self._run, reuse, found, "and what it gave is no longer kept")
            self._run.give(found, dropped=True)
        return None

    async def word(self, bound: dict[str, ToolValue]) -> None:
        """Word large arguments, on a thread, before the call begins."""
        if self._run is not None:
            self.given = await aside(self._given, bound)

    def begin(self, bound: dict[str, ToolValue]) -> bool:
        """Note that a call with these arguments begins, and write it if it may have an effect.

        Return True if `settle` has to be awaited before it is made.
        """
        run = self._run
        if run is None:
            return False
        reads = self.effect is Effect.READS
        if not self.given:
            if reads:
                self._bound = dict(bound)  # worded once it has ended, and the code has its value
            else:
                self.given = self._given(bound)
        run.prepare(self)
        self.begun = True
        if reads:
            return False
        run.begin(self)
        return run.waits

    async def settle(self) -> None:
        """Wait until it is written that the call begins; raises CallNotJournalledError where it is not."""
        assert self._run is not None
        try:
            await self._run.settle()
        except OSError as error:
            raise CallNotJournalledError(self.tool, error.strerror or str(error)) from error

    async def keep(self, packed: bytes) -> None:
        """Write a large value beside the lines, before the code gets it: the run may end with that."""
        if self._run is not None and self.begun:
            keep = self._run.keep_value
            self._kept = keep(packed) if len(packed) <= ASIDE else await anyio.to_thread.run_sync(keep, packed)

    def succeed(self, value: ToolValue, packed: bytes) -> None:
        """Note what the code has got; a file that it gets is kept elsewhere."""
        if self._run is not None and self.begun:
            if self._bound is not None:
                self.given = self._given(self._bound)
            if isinstance(value, FileValue):
                self._run.succeed_without_value(self)
            else:
                self._run.succeed(self, packed, self._call.caller.memory.read, self._kept)

    def fail(self, error: BaseException) -> None:
        """Note how a call ended without a value."""
        if self._run is None or not self.begun:
            return
        if self._bound is not None:
            self.given = self._given(self._bound)
        if isinstance(error, CallError):
            unknown = isinstance(error, _NO_END) or getattr(error, "begun", False)
            self._run.fail(self, word_error(error), kind=builtin_kind(error), unknown=unknown)
        elif isinstance(error, UnsupportedValueError):  # it was carried out, and the code cannot have its value
            self._run.succeed_without_value(self)
        else:
            self._run.abandon(self)

    # -- replaying

    async def _play(self, replay: Replay, bound: dict[str, ToolValue]) -> JournalledValue:
        """Return what the same call gave in the run that is played again; calls inside calls do not get here."""
        self.reused = True
        if self._call.name in UNJOURNALLED:
            return JournalledValue(_NOTHING)
        shown = encode(self._redactor.value(_without_files(bound)))
        found = await aside(replay.take, self._call.name, self._digest(bound), shown)
        if found is None:
            given = word_arguments(shown)
            replay.found.unrecorded.append(f"{self._call.name}({given})")
            raise CallNotRecordedError(self._call.name, "the run has not made this call")
        if found.outcome is Outcome.ERROR:
            raise RecordedFailureError(self._call.name, found.kind or "RuntimeError", found.error)
        value = await aside(replay.value_of, found)
        if value is None:
            raise CallNotRecordedError(self._call.name, "nobody knows how it ended, or its value is no longer kept")
        return JournalledValue(b"".join(mask([value], self._redactor.known)))

    # -- reusing

    def _settle(self, run: RunJournal, reuse: Reuse, found: RecordedCall, reason: str) -> JournalledValue | None:
        """Decide on a call that may have had its effect, and whose value is not there."""
        repeatable = found.outcome is Outcome.UNKNOWN and found.effect.repeatable
        if reuse.unknown is Unknown.TELL and not repeatable:
            raise CallNotRepeatedError(self.tool, run.run, word_call(found), reason)
        reuse.take(found)
        self.reused = reuse.unknown is Unknown.SKIP and not repeatable
        run.give(found, skipped=self.reused, dropped=not self.reused)
        return JournalledValue(_NOTHING) if self.reused else None

    async def _value_of(self, found: RecordedCall) -> bytes | None:
        value = _to_json(found.value).encode("ascii") if found.has_value else None
        if found.value_at is not None:
            try:
                value = await aside(self._journal.store.fetch, found.value_at)
            except OSError:
                return None
        return b"".join(mask([value], self._redactor.known)) if value is not None else None

    def _mark(self, found: RecordedCall) -> None:
        """Let the client have read what it now gets, as if the call had been made."""
        memory, guard = self._call.caller.memory, self._call.tool.guard
        if guard.guarded:
            memory.note(guard.names)
        if found.marks:
            memory.note(found.marks)

    # -- arguments

    async def _aside(self, function: Callable[[dict[str, ToolValue]], Made], bound: dict[str, ToolValue]) -> Made:
        """Look through the arguments, on a thread if they are large."""
        return await aside(function, bound) if len(self._call.sent) > LARGE_MESSAGE else function(bound)

    def _digest(self, bound: dict[str, ToolValue]) -> str:
        """Return what equal calls have in common; one that was given a file is equal to no other."""
        if any(isinstance(value, FileValue) for value in bound.values()):
            return secrets.token_hex(16)
        return self._journal.equality.digest(self.tool, self._source.digest, encode(bound))

    def _given(self, bound: dict[str, ToolValue]) -> bytes:
        """Return the arguments as fields of a line, without secrets: as they came where that will do."""
        sent, source = self._call.sent, self._source.fields
        if len(sent) <= INLINE and self._came_as(bound) and not (self._redactor.active and self._holds_secret(sent)):
            return source + b'"sent":' + sent
        digest = b'%b"digest":"%b",' % (source, self._digest(bound).encode("ascii"))
        arguments = _to_json(encode(self._redactor.value(_without_files(bound)))).encode("ascii")
        if len(arguments) > INLINE and self._run is not None:
            return digest + self._run.keep_arguments(arguments)
        return b'%b"arguments":%b' % (digest, arguments)

    def _came_as(self, bound: dict[str, ToolValue]) -> bool:
        """True if the kernel's message, which may be anything that is JSON, has these arguments and is one line."""
        call = self._call
        if not call.sent or call.positional or call.tool.definition.spellings or b"\n" in call.sent:
            return False
        return all(map(operator.is_, bound.values(), call.arguments.values()))

    def _holds_secret(self, sent: bytes) -> bool:
        text = sent.decode("utf-8", "surrogateescape")
        return self._redactor.text(text) != text


def _without_files(bound: dict[str, ToolValue]) -> dict[str, ToolValue]:
    return {name: str(value) if isinstance(value, FileValue) else value for name, value in bound.items()}
