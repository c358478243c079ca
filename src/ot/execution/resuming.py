"""The journal's steps of a call: answered by what an equal call gave in an earlier run, or written while it is made.

The first is done before anybody is asked: a person has agreed to the call when it was made. A call that may have an
effect is written before it begins, and each after it has ended.
"""

from __future__ import annotations

import json
import operator
import secrets
from collections.abc import Awaitable

import anyio.to_thread

from ot import errors
from ot.effects import Effect
from ot.execution.call import Call, PreparedTool, Step
from ot.execution.wording import builtin_kind, word_error
from ot.journal.equality import canonical_of
from ot.journal.journal import APPLY, PREVIEW, RESUME, Journal, word_arguments, word_call
from ot.journal.open_call import CallJournal
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.reuse import JournalledValue, Replay, Reuse, Unknown
from ot.journal.run_journal import INLINE, RunJournal
from ot.store.owner import TakenOverError
from ot.tasks.large_values import LARGE_MESSAGE, FileValue, aside
from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue
from ot_kernel.values import Encoded, UnsupportedValueError, encode

UNJOURNALLED = frozenset({RESUME, PREVIEW, APPLY, "ot.runs", "ot.stop", "ot.wait"})
"""Tools that are about runs themselves: what they said of one is no answer later."""

_NOTHING = b"null"

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class RunStep(Step):
    """A step of the calls that code in a run makes of one tool: it knows their runs' journal, and compares them."""

    __slots__ = ("_is_journalled", "_journal", "_redactor", "_source", "_tool")

    def __init__(self, tool: PreparedTool, journal: Journal, redactor: Redactor) -> None:
        self._tool = tool
        self._journal = journal
        self._redactor = redactor
        self._is_journalled = tool.definition.name not in UNJOURNALLED
        self._source = journal.sources.of(tool.definition)

    def digest(self, bound: Arguments) -> str:
        """Return what equal calls have in common; one that was given a file is equal to no other."""
        if any(isinstance(value, FileValue) for value in bound.values()):
            return secrets.token_hex(16)
        return self._journal.equality.digest(self._tool.definition.name, self._source.digest, canonical_of(bound))

    def encoded(self, bound: Arguments) -> Encoded:
        """Return arguments as the journal has them: without secrets, and each file by its name."""
        named = {name: str(value) if isinstance(value, FileValue) else value for name, value in bound.items()}
        return encode(self._redactor.value(named))


class ResumeStep(RunStep):
    """Finds the journal of a call's run, and answers the call from that of an earlier run where there is one."""

    __slots__ = ()

    def begin(self, call: Call) -> Awaitable[bool] | None:
        """Raises CallNotRepeatedError and, in a replay, RecordedFailureError and CallNotRecordedError."""
        run_id = call.caller.run_id
        run = self._journal.open_runs.get(run_id)
        if run is None:
            replay = self._journal.replays.get(run_id)
            return None if replay is None else self._play(call, replay)
        if not self._is_journalled:
            run.made += not self._tool.reads
            return None
        call.journal = run
        return None if run.reuse is None else self._reuse(call, run, run.reuse)

    async def _reuse(self, call: Call, run: RunJournal, reuse: Reuse) -> bool:
        """Give a call the value of an equal one; False where there is none."""
        digest = await aside(self.digest, call.bound) if len(call.sent) > LARGE_MESSAGE else self.digest(call.bound)
        while (found := reuse.find(digest, run.state)) is not None:
            if found.outcome is CallOutcome.UNKNOWN and found.task is not None:
                reuse.take(found)
                call.continued = found
                return False
            if found.outcome is CallOutcome.UNKNOWN:
                return self._settle(call, run, reuse, found, "and its outcome is unknown")
            reuse.take(found)
            value = _to_json(found.value).encode("ascii") if found.has_value else None
            if found.value_at is not None:
                try:
                    value = await aside(self._journal.store.fetch, found.value_at)
                except OSError:
                    value = None
            if value is not None:
                run.give(found)
                memory, guard = call.caller.memory, self._tool.guard  # it has read this, as if the call had been made
                if guard.guarded:
                    memory.note(guard.names, by_value=guard.brings)
                if found.marks:
                    memory.note(found.marks)
                return self._answer(call, value)
            if found.effect is not Effect.READS:
                reuse.put_back(found)
                return self._settle(call, run, reuse, found, "and its result is no longer kept")
            run.give(found, dropped=True)
        return False

    def fail(self, call: Call, error: BaseException) -> None:
        if call.continued is not None and call.entry is None and call.journal is not None and call.journal.reuse:
            call.journal.reuse.put_back(call.continued)  # it was refused before it could go on

    def _settle(self, call: Call, run: RunJournal, reuse: Reuse, found: RecordedCall, reason: str) -> bool:
        """Decide on a call that may have had its effect, and whose value is not there."""
        repeatable = found.outcome is CallOutcome.UNKNOWN and found.effect.repeatable
        if reuse.unknown is Unknown.TELL and not repeatable:
            call.caller.memory.note(found.read)
            raise errors.CallNotRepeatedError(call.name, run.run, word_call(found), reason)
        reuse.take(found)
        skipped = reuse.unknown is Unknown.SKIP and not repeatable
        run.give(found, skipped=skipped, dropped=not skipped)
        return skipped and self._answer(call, _NOTHING)

    async def _play(self, call: Call, replay: Replay) -> bool:
        """Give a call what the same call gave in the run that is played again; calls inside calls do not get here."""
        if not self._is_journalled:
            return self._answer(call, _NOTHING)
        call.reused = True
        shown = self.encoded(call.bound)
        found = await aside(replay.take, call.name, self.digest(call.bound), shown)
        if found is None:
            replay.found.unrecorded.append(f"{call.name}({word_arguments(shown)})")
            raise errors.CallNotRecordedError(call.name, "the run did not make this call")
        if found.outcome is CallOutcome.ERROR:
            raise errors.RecordedFailureError(call.name, found.kind or "RuntimeError", found.error)
        value = await aside(replay.value_of, found)
        if value is None:
            raise errors.CallNotRecordedError(call.name, "its outcome is unknown, or its value is no longer kept")
        return self._answer(call, value)

    def _answer(self, call: Call, value: bytes) -> bool:
        call.reused = True
        call.value = JournalledValue(b"".join(self._redactor.pieces([value])))
        return True


_NO_END = (
    errors.ServiceUnavailableError,
    errors.ToolStoppedError,
    errors.ToolTimeoutError,
)  # errors that do not say how a call ended
ASIDE = 256 * 1024  # bytes that are not written while others wait


def is_open_end(error: errors.CallError) -> bool:
    """True if nobody knows whether the call that ended with this error was carried out."""
    return isinstance(error, _NO_END) or bool(getattr(error, "begun", False))


class JournalStep(RunStep):
    """Writes the calls of one tool into the journals of their runs, which `ResumeStep` has found."""

    __slots__ = ()

    def begin(self, call: Call) -> Awaitable[None] | None:
        """Note that a call begins, and write it if it may have an effect.

        Raises CallNotJournalledError and RunTakenOverError.
        """
        run = call.journal
        if run is None:
            return None
        if len(call.sent) > LARGE_MESSAGE:
            return self._begin_aside(call, run)
        if self._tool.effect is Effect.READS and call.continued is None:  # worded once it has ended
            call.entry = run.begin(call.name, call.tool.effect, b"", dict(call.bound))
            call.entry.wording = self
            return None
        given = self._word_arguments(call, call.bound)
        call.entry = run.begin(call.name, call.tool.effect, given, continued=call.continued)
        if run.waits:
            return self._settle(call, run)
        self._check_owner(call, run)
        return None

    def end(self, call: Call) -> None:
        entry = call.entry
        if entry is not None and call.journal is not None:
            if not entry.given:
                entry.given = self._word_arguments(call, entry.arguments)
            if isinstance(call.value, FileValue):  # a file that the code gets is kept elsewhere
                call.journal.succeed_without_value(entry)
            else:
                call.journal.succeed(entry, call.packed, call.caller.memory.read)

    def fail(self, call: Call, error: BaseException) -> None:
        run, entry = call.journal, call.entry
        if entry is None or run is None:
            return
        if not entry.given:
            entry.given = self._word_arguments(call, entry.arguments)
        if isinstance(error, errors.CallError):
            text = self._redactor.text(word_error(error))
            run.fail(entry, text, kind=builtin_kind(error), unknown=is_open_end(error))
        elif isinstance(error, UnsupportedValueError):  # it was carried out, and the code cannot have its value
            run.succeed_without_value(entry)
        else:
            run.abandon(entry)

    async def keep(self, call: Call) -> None:
        if call.entry is not None and call.journal is not None:
            keep, packed = call.journal.keep_value, call.packed
            call.entry.kept = keep(packed) if len(packed) <= ASIDE else await anyio.to_thread.run_sync(keep, packed)

    async def _begin_aside(self, call: Call, run: RunJournal) -> None:
        given = await aside(self._word_arguments, call, call.bound)
        call.entry = run.begin(call.name, call.tool.effect, given, continued=call.continued)
        if self._tool.effect is not Effect.READS:
            await self._settle(call, run)

    async def _settle(self, call: Call, run: RunJournal) -> None:
        try:
            await run.settle()
        except TakenOverError as error:
            raise errors.RunTakenOverError(call.name, run.run, error.heir) from error
        except OSError as error:
            raise errors.CallNotJournalledError(call.name, error.strerror or str(error)) from error

    def _check_owner(self, call: Call, run: RunJournal) -> None:
        try:
            run.check_owner()
        except TakenOverError as error:
            raise errors.RunTakenOverError(call.name, run.run, error.heir) from error

    # -- arguments

    def _word_arguments(self, call: Call, bound: dict[str, ToolValue]) -> bytes:
        """Return the arguments as fields of a line, without secrets: as they came where that will do."""
        fields, sent = self._source.fields, call.sent
        # The kernel's message, which may be any JSON, where it has these arguments in one line.
        other = call.positional or self._tool.definition.spellings or b"\n" in sent or len(sent) > INLINE
        if sent and not other and all(map(operator.is_, bound.values(), call.arguments.values())):
            text = sent.decode("utf-8", "surrogateescape") if self._redactor.active else ""
            if not text or self._redactor.text(text) == text:
                return fields + b'"sent":' + sent
        assert call.journal is not None
        return self.word(bound, call.journal)

    def word(self, arguments: Arguments, run: CallJournal) -> bytes:
        """Return arguments as fields of a line of a run, without secrets."""
        digest = b'%b"digest":"%b",' % (self._source.fields, self.digest(arguments).encode())
        encoded = _to_json(self.encoded(arguments)).encode("ascii")
        if len(encoded) > INLINE:
            return digest + run.keep_arguments(encoded)
        return b'%b"arguments":%b' % (digest, encoded)
