"""The journal's step of a call: written before one that may have an effect begins, and after each has ended."""

from __future__ import annotations

import json
import operator
from collections.abc import Awaitable

import anyio.to_thread

from ot.effects import Effect
from ot.errors import (
    CallError,
    CallNotJournalledError,
    ServiceUnavailableError,
    ToolStoppedError,
    ToolTimeoutError,
)
from ot.execution.call import Call
from ot.execution.resuming import RunStep
from ot.execution.wording import builtin_kind, word_error
from ot.journal.run_journal import INLINE, RunJournal
from ot.tasks.large_values import LARGE_MESSAGE, FileValue, aside
from ot.values import ToolValue
from ot_kernel.values import UnsupportedValueError

_NO_END = (ServiceUnavailableError, ToolStoppedError, ToolTimeoutError)  # errors that do not say how a call ended
ASIDE = 256 * 1024  # bytes that are not written while others wait

_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class JournalStep(RunStep):
    """Writes the calls of one tool into the journals of their runs, which `ResumeStep` has found."""

    __slots__ = ()

    def begin(self, call: Call) -> Awaitable[None] | None:
        """Note that a call begins, and write it if it may have an effect; raises CallNotJournalledError."""
        run = call.journal
        if run is None:
            return None
        if len(call.sent) > LARGE_MESSAGE:
            return self._begin_aside(call, run)
        if self._tool.effect is Effect.READS:  # worded once it has ended, and the code has its value
            call.entry = run.begin(call.name, call.tool.effect, b"", dict(call.bound))
            return None
        call.entry = run.begin(call.name, call.tool.effect, self._word_arguments(call, call.bound))
        return self._settle(call, run) if run.waits else None

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
        if isinstance(error, CallError):
            unknown = isinstance(error, _NO_END) or getattr(error, "begun", False)
            run.fail(entry, self._redactor.text(word_error(error)), kind=builtin_kind(error), unknown=unknown)
        elif isinstance(error, UnsupportedValueError):  # it was carried out, and the code cannot have its value
            run.succeed_without_value(entry)
        else:
            run.abandon(entry)

    async def keep(self, call: Call) -> None:
        """Write a large value beside the lines."""
        if call.entry is not None and call.journal is not None:
            keep, packed = call.journal.keep_value, call.packed
            call.entry.kept = keep(packed) if len(packed) <= ASIDE else await anyio.to_thread.run_sync(keep, packed)

    async def _begin_aside(self, call: Call, run: RunJournal) -> None:
        """Do the same for a call with large arguments, which are worded on a thread before it begins."""
        given = await aside(self._word_arguments, call, call.bound)
        call.entry = run.begin(call.name, call.tool.effect, given)
        if run.waits and self._tool.effect is not Effect.READS:
            await self._settle(call, run)

    async def _settle(self, call: Call, run: RunJournal) -> None:
        """Wait until it is written that the call begins."""
        try:
            await run.settle()
        except OSError as error:
            raise CallNotJournalledError(call.name, error.strerror or str(error)) from error

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
        digest = b'%b"digest":"%b",' % (fields, self.digest(bound).encode())
        arguments = _to_json(self.encoded(bound)).encode("ascii")
        if len(arguments) > INLINE and call.journal is not None:
            return digest + call.journal.keep_arguments(arguments)
        return b'%b"arguments":%b' % (digest, arguments)
