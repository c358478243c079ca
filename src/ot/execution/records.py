"""The way out of a call: its value without secrets, and its records.

These are its span, the types of what it gave, one note for the statistics and one line of the log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass, replace
from ot import errors
from ot.clients.caller import Caller
from ot.clients.person import served
from ot.errors import CallError, OneToolError
from ot.execution.call import Call, Delivery, Step
from ot.execution.wording import word_error
from ot.journal.run_journal import INLINE
from ot.logs import logs_content, write_log, write_span
from ot.registry.definitions import LearntFrom
from ot.shapes.shapes import Shapes
from ot.stats.recorder import UNKNOWN_TOOL, Recorder
from ot.tasks.large_values import FileValue, aside_if_large, is_large
from ot.text.log_text import Outline
from ot.text.redaction import Redactor
from ot.values import ToolValue, Unmade, expanded

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry

SLOW = 1.0  # seconds
_WAITING = frozenset({"ot.wait"})  # tools that are slow by intention
_OF_OPERATORS = (
    errors.BrokenPackError,
    errors.CallNotJournalledError,
    errors.DatabaseUnavailableError,
    errors.KeyRefusedError,
    errors.PackNotReadyError,
    errors.PaymentRequiredError,
    errors.ServerUnavailableError,
    errors.ServiceUnavailableError,
    errors.ToolFailedError,
    errors.WorkerCrashedError,
    errors.WorkerStartError,
    errors.WrongSettingsError,
)
"""Failures of a team's server, and not of the code that met them."""


@dataclass(eq=False, slots=True)
class TraceStep(Step):
    """Makes a span of each call, where spans are wanted, and counts it; calls inside it belong to its span."""

    _telemetry: Telemetry

    def begin(self, call: Call) -> None:
        parent = call.caller.span
        if parent is None and self._telemetry.tracer is None:
            return
        call.traced = traced = self._telemetry.begin_call(call.name, call.tool.effect, parent)
        if traced is not None:
            call.caller = replace(call.caller, span=traced.span)

    def end(self, call: Call) -> None:
        if call.traced is not None or self._telemetry.meters is not None:
            self._telemetry.end_call(call.traced, call.name, call.tool.effect, call.failure, call.seconds)

    def fail(self, call: Call, error: BaseException) -> None:
        self.end(call)


@dataclass(eq=False, slots=True)
class ShapeStep(Step):
    """Notes the types of what came back, for a tool that does not declare them."""

    _learns: LearntFrom
    _shapes: Shapes

    def end(self, call: Call) -> None:
        if not call.reused:
            self._shapes.note(self._learns, call.caller.principal, call.value)


@dataclass(eq=False, slots=True)
class RecordStep(Step):
    """Writes each call into the log, and notes it for the statistics where those are kept.

    Only at the level `debug` of one's own server does a line hold what was read or written. The log of a team's server
    has no arguments at all, and warns of what its operator can mend, not of what people's code did wrong.
    """

    _recorder: Recorder | None

    def end(self, call: Call, error: BaseException | None = None) -> None:
        seconds, level, status = call.seconds, logging.INFO, "ok"
        whole, own = logs_content(), not served()

        def outlined(value: object, *, arguments: bool = False) -> object:
            return value if whole else Outline(value, arguments=arguments and own)

        fields: dict[str, object] = {"arguments": outlined(call.arguments, arguments=True)}
        if call.positional:
            fields["positional"] = outlined(call.positional, arguments=True)
        if error is None:
            fields["result"] = outlined(call.value)
        else:
            level, status = _level_of(error), type(error).__name__
            if own and isinstance(error, CallError):
                fields["error"] = word_error(error)
        startup = 0.0 if call.context is None else call.context.startup
        if startup:
            fields["startup_ms"] = round(startup * 1000, 3)
        if self._recorder is not None:
            self._recorder.call(
                call.name, seconds - startup, call.failure, call.caller.run, call.depth, call.sent, call.packed
            )
        if seconds > SLOW:
            fields["slow"] = True
            level = max(level, logging.WARNING if own and call.name not in _WAITING else level)
        write_span(level, call.name, status, seconds, fields)

    def fail(self, call: Call, error: BaseException) -> None:
        self.end(call, error)


class MadeRecordStep(RecordStep):
    """Records the calls of a preview that were made."""

    __slots__ = ()

    def end(self, call: Call, error: BaseException | None = None) -> None:
        if type(call.value) is not Unmade:
            super().end(call, error)


def _level_of(error: BaseException) -> int:
    if not isinstance(error, Exception):
        return logging.INFO
    return logging.INFO if served() and not isinstance(error, _OF_OPERATORS) else logging.WARNING


def record_unknown(name: str, error: CallError, caller: Caller, sent: bytes, recorder: Recorder | None) -> None:
    failure = type(error).__name__
    write_log(_level_of(error), "executor.unknown_tool", tool=name, error=failure)
    if recorder is not None:
        recorder.call(UNKNOWN_TOOL, seconds=0, error=failure, run=caller.run, sent=sent)


@dataclass(eq=False, slots=True)
class RedactionStep(Step):
    """Takes the secrets out of everything that a call gives, and delivers its value.

    `keep` writes a large value into the journal, before the code gets it: the run may end with that.
    """

    _redactor: Redactor
    _keep: Callable[[Call], Awaitable[None]] | None = None

    def begin(self, call: Call) -> Awaitable[None] | None:
        large = type(call.value) is not str and is_large(call.value)
        if not large:
            call.value, call.packed = self.make_ready(call.value, call.delivery)
        if large or (self._keep is not None and len(call.packed) > INLINE):
            return self._deliver_large(call, ready=not large)
        if call.delivery is not None:
            call.delivery.send(call.packed)
        return None

    def fail(self, call: Call, error: BaseException) -> None:
        if isinstance(error, OneToolError):
            redact_error(error, self._redactor)

    def make_ready(self, value: ToolValue, delivery: Delivery | None) -> tuple[ToolValue, bytes]:
        """Return a value without secrets, and the same packed where there is a delivery; on whatever thread."""
        if delivery is None:
            value = expanded(value.read() if isinstance(value, FileValue) else value)
        if self._redactor.active:
            value = self._redactor.value(value)
        return value, delivery.pack(value) if delivery is not None else b""

    async def _deliver_large(self, call: Call, *, ready: bool) -> None:
        if not ready:
            call.value, call.packed = await aside_if_large(call.value, self.make_ready, call.value, call.delivery)
        if self._keep is not None and len(call.packed) > INLINE:
            await self._keep(call)
        if call.delivery is not None:
            call.delivery.send(call.packed)


def redact_error(error: OneToolError, redactor: Redactor) -> None:
    """Take the secrets out of an error's texts, which come from tools; the names it declares stay."""
    if redactor.active:
        for field, value in vars(error).items():
            if field not in error.names:
                setattr(error, field, redactor.value(value))
        error.args = redactor.value(error.args)
