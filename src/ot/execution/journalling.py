"""The journal's step of a call: it is answered from an earlier run, or written before and after it is made."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from ot.effects import Effect
from ot.errors import (
    CallError,
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
from ot.journal.reuse import Unknown
from ot.journal.run_journal import INLINE, OpenCall
from ot.large_values import LARGE_MESSAGE, FileValue, aside
from ot.redaction import Redactor
from ot.registry.definitions import Cancellation
from ot.results.masking import mask
from ot.values import ToolValue
from ot_kernel.values import UnsupportedValueError, encode

UNJOURNALLED = frozenset({RESUME, "ot.runs", "ot.stop", "ot.wait"})
"""Tools that are about runs themselves: what they said of one is no answer later."""

_NO_END = (ServiceUnavailableError, ToolStoppedError, ToolTimeoutError)  # errors that do not say how a call ended
_NOTHING = b"null"

Made = TypeVar("Made")

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class CallJournal:
    """One call in the journal of its run, while it lasts; nothing happens for a call without one.

    A call inside a call is part of the outer one. That of a skill gives code, and it is the calls in there that count.
    """

    __slots__ = ("_call", "_journal", "_open", "_redactor", "_replay", "_run", "_source", "reused")

    def __init__(self, journal: Journal | None, call: Call, redactor: Redactor) -> None:
        self.reused = False  # it was answered from an earlier run
        self._call = call
        self._redactor = redactor
        self._journal = journal
        self._open: OpenCall | None = None
        self._run = None
        self._source = ""
        self._replay = None
        if journal is not None and not call.depth and not _is_skill(call):
            self._replay = journal.replay_of(call.caller.run_id)
            self._run = journal.run_of(call.caller.run_id) if call.name not in UNJOURNALLED else None
            if self._run is not None or self._replay is not None:
                self._source = journal.sources.of(call.tool.definition)

    async def reuse(self, bound: dict[str, ToolValue]) -> JournalledValue | None:
        """Return the value of an equal call in the run that this one goes on from; None where there is none.

        Raises CallNotRepeatedError and, in a replay, RecordedFailureError and CallNotRecordedError.
        """
        if self._replay is not None:
            return await self._play(self._replay, bound)
        if self._run is None or self._run.reuse is None:
            return None
        digest = await self._aside(self._digest, bound)
        while (found := self._run.reuse.find(digest, self._run.world)) is not None:
            if found.outcome is Outcome.UNKNOWN:
                return self._settle(found, "and nobody knows how it ended")
            self._run.reuse.take(found)
            value = await self._value_of(found)
            if value is not None:
                self._run.give(found)
                self._mark(found)
                self.reused = True
                return JournalledValue(value)
            if found.effect is not Effect.READS:
                self._run.reuse.put_back(found)
                return self._settle(found, "and what it gave is no longer kept")
            self._run.give(found, dropped=True)
        return None

    async def begin(self, bound: dict[str, ToolValue]) -> None:
        """Write that a call with these arguments begins, if it may have an effect."""
        if self._run is not None:
            given = await self._aside(self._given, bound)
            self._open = self._run.prepare(self._call.name, self._call.tool.effect, given)
            if self._open.effect is not Effect.READS:
                self._run.begin(self._open)

    async def succeed(self, value: ToolValue, packed: bytes) -> None:
        """Write what the code is about to get; a file that it gets is kept elsewhere."""
        if self._run is not None and self._open is not None:
            kept = b"" if isinstance(value, FileValue) else packed
            await self._run.succeed(self._open, kept, frozenset(self._call.caller.memory.read))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or self._run is None or self._open is None:
            return
        if isinstance(error, CallError):
            unknown = isinstance(error, _NO_END) or getattr(error, "begun", False)
            reason, builtin = word_error(error), builtin_kind(error)
            self._run.fail(self._open, self._call.name, reason, kind=builtin, unknown=unknown)
        elif isinstance(error, UnsupportedValueError):  # it was carried out, and the code cannot have its value
            self._run.succeed_without_value(self._open)
        else:
            self._run.abandon(self._open, self._call.name)

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

    def _settle(self, found: RecordedCall, reason: str) -> JournalledValue | None:
        """Decide on a call that may have had its effect, and whose value is not there."""
        assert self._run is not None
        assert self._run.reuse is not None
        how = self._run.reuse.unknown
        if how is Unknown.REPEAT or (found.outcome is Outcome.UNKNOWN and found.effect.repeatable):
            self._run.reuse.take(found)
            self._run.give(found, dropped=True)
            return None
        if how is Unknown.TELL:
            raise CallNotRepeatedError(self._call.name, self._run.run, word_call(found), reason)
        self._run.reuse.take(found)
        self._run.give(found, skipped=True)
        self.reused = True
        return JournalledValue(_NOTHING)

    async def _value_of(self, found: RecordedCall) -> bytes | None:
        assert self._journal is not None
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
        assert self._journal is not None
        if any(isinstance(value, FileValue) for value in bound.values()):
            return secrets.token_hex(16)
        return self._journal.equality.digest(self._call.name, self._source, encode(bound))

    def _given(self, bound: dict[str, ToolValue]) -> bytes:
        """Return the arguments as fields of a line, without secrets: as they came where that will do."""
        sent = self._call.sent
        source = b'"source":"%b",' % self._source.encode("ascii")
        if len(sent) <= INLINE and self._came_as(bound) and not self._holds_secret(sent):
            return b'%b"sent":%b' % (source, sent)
        assert self._run is not None
        digest = b'"digest":"%b",' % self._digest(bound).encode("ascii")
        arguments = _to_json(encode(self._redactor.value(_without_files(bound)))).encode("ascii")
        if len(arguments) > INLINE:
            return digest + self._run.keep_large(arguments)
        return b'%b"arguments":%b' % (digest, arguments)

    def _came_as(self, bound: dict[str, ToolValue]) -> bool:
        """True if the kernel's message, which may be anything that is JSON, has these arguments and is one line."""
        call = self._call
        if not call.sent or call.positional or b"\n" in call.sent or len(bound) != len(call.arguments):
            return False
        given = call.arguments
        return all(name in given and given[name] is value for name, value in bound.items())

    def _holds_secret(self, sent: bytes) -> bool:
        if not self._redactor.active:
            return False
        text = sent.decode("utf-8", "surrogateescape")
        return self._redactor.text(text) != text


def _is_skill(call: Call) -> bool:
    return call.tool.definition.cancellation is Cancellation.SKILL


def _without_files(bound: dict[str, ToolValue]) -> dict[str, ToolValue]:
    return {name: str(value) if isinstance(value, FileValue) else value for name, value in bound.items()}
