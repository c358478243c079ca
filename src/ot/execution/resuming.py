"""The step of a resumed or replayed run: a call is answered by what an equal call gave in an earlier run.

That is done before anybody is asked: a person has agreed to the call when it was made.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable

from ot.effects import Effect
from ot.errors import CallNotRecordedError, CallNotRepeatedError, RecordedFailureError
from ot.execution.call import Call, Step
from ot.execution.prepared import PreparedTool
from ot.journal.journal import RESUME, Journal, word_arguments, word_call
from ot.journal.journalled_value import JournalledValue
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.replay import Replay
from ot.journal.reuse import Reuse, Unknown
from ot.journal.run_journal import RunJournal
from ot.results.store import mask
from ot.tasks.large_values import LARGE_MESSAGE, FileValue, aside
from ot.text.redaction import Redactor
from ot.values import Arguments
from ot_kernel.values import Encoded, encode

UNJOURNALLED = frozenset({RESUME, "ot.runs", "ot.stop", "ot.wait"})
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
        return self._journal.equality.digest(self._tool.definition.name, self._source.digest, encode(bound))

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
        run = self._journal.open_runs.get(run_id) if self._is_journalled else None
        if run is None:
            replay = self._journal.replays.get(run_id)
            return None if replay is None else self._play(call, replay)
        call.journal = run
        return None if run.reuse is None else self._reuse(call, run, run.reuse)

    async def _reuse(self, call: Call, run: RunJournal, reuse: Reuse) -> bool:
        """Give a call the value of an equal one; False where there is none."""
        digest = await aside(self.digest, call.bound) if len(call.sent) > LARGE_MESSAGE else self.digest(call.bound)
        while (found := reuse.find(digest, run.state)) is not None:
            if found.outcome is CallOutcome.UNKNOWN:
                return self._settle(call, run, reuse, found, "and its outcome is unknown")
            reuse.take(found)
            value = await self._value_of(found)
            if value is not None:
                run.give(found)
                self._mark(call, found)
                return _answer(call, value)
            if found.effect is not Effect.READS:
                reuse.put_back(found)
                return self._settle(call, run, reuse, found, "and its result is no longer kept")
            run.give(found, dropped=True)
        return False

    def _settle(self, call: Call, run: RunJournal, reuse: Reuse, found: RecordedCall, reason: str) -> bool:
        """Decide on a call that may have had its effect, and whose value is not there."""
        repeatable = found.outcome is CallOutcome.UNKNOWN and found.effect.repeatable
        if reuse.unknown is Unknown.TELL and not repeatable:
            raise CallNotRepeatedError(call.name, run.run, word_call(found), reason)
        reuse.take(found)
        skipped = reuse.unknown is Unknown.SKIP and not repeatable
        run.give(found, skipped=skipped, dropped=not skipped)
        return skipped and _answer(call, _NOTHING)

    async def _value_of(self, found: RecordedCall) -> bytes | None:
        value = _to_json(found.value).encode("ascii") if found.has_value else None
        if found.value_at is not None:
            try:
                value = await aside(self._journal.store.fetch, found.value_at)
            except OSError:
                return None
        return self._masked(value) if value is not None else None

    def _masked(self, value: bytes) -> bytes:
        return b"".join(mask([value], self._redactor.known))

    def _mark(self, call: Call, found: RecordedCall) -> None:
        """Let the client have read what it now gets, as if the call had been made."""
        memory, guard = call.caller.memory, self._tool.guard
        if guard.guarded:
            memory.note(guard.names)
        if found.marks:
            memory.note(found.marks)

    async def _play(self, call: Call, replay: Replay) -> bool:
        """Give a call what the same call gave in the run that is played again; calls inside calls do not get here."""
        if not self._is_journalled:
            return _answer(call, _NOTHING)
        call.reused = True
        shown = self.encoded(call.bound)
        found = await aside(replay.take, call.name, self.digest(call.bound), shown)
        if found is None:
            given = word_arguments(shown)
            replay.found.unrecorded.append(f"{call.name}({given})")
            raise CallNotRecordedError(call.name, "the run did not make this call")
        if found.outcome is CallOutcome.ERROR:
            raise RecordedFailureError(call.name, found.kind or "RuntimeError", found.error)
        value = await aside(replay.value_of, found)
        if value is None:
            raise CallNotRecordedError(call.name, "its outcome is unknown, or its value is no longer kept")
        return _answer(call, self._masked(value))


def _answer(call: Call, value: bytes) -> bool:
    call.reused = True
    call.value = JournalledValue(value)
    return True
