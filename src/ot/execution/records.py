"""Records of a call: its span, the types of what it gave, one note for the statistics and one line of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import replace
from ot.clients.caller import Caller
from ot.errors import CallError
from ot.execution.call import Call, Step
from ot.execution.wording import word_error
from ot.logs import write_log, write_span
from ot.registry.definitions import LearntFrom
from ot.shapes.shapes import Shapes
from ot.stats.recorder import UNKNOWN_TOOL, Recorder

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry

SLOW = 1.0  # seconds


class TraceStep(Step):
    """Makes a span of each call, where spans are wanted, and counts it; calls inside it belong to its span."""

    __slots__ = ("_telemetry",)

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

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


class ShapeStep(Step):
    """Notes the types of what came back, for a tool that does not declare them."""

    __slots__ = ("_learns", "_shapes")

    def __init__(self, learns: LearntFrom, shapes: Shapes) -> None:
        self._learns = learns
        self._shapes = shapes

    def end(self, call: Call) -> None:
        if not call.reused:
            self._shapes.note(self._learns, call.caller.principal, call.value)


class RecordStep(Step):
    """Writes each call into the log, and notes it for the statistics where those are kept."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder

    def end(self, call: Call, error: BaseException | None = None) -> None:
        seconds, level, status = call.seconds, logging.INFO, "ok"
        fields: dict[str, object] = {"arguments": call.arguments}
        if call.positional:
            fields["positional"] = call.positional
        if error is None:
            fields["result"] = call.value
        else:
            level = logging.WARNING if isinstance(error, Exception) else level
            status = type(error).__name__
            if isinstance(error, CallError):
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
            level = logging.WARNING
        write_span(level, call.name, status, seconds, fields)

    def fail(self, call: Call, error: BaseException) -> None:
        self.end(call, error)


def record_unknown(name: str, error: CallError, caller: Caller, sent: bytes, recorder: Recorder | None) -> None:
    """Record a call of a tool that does not exist."""
    failure = type(error).__name__
    write_log(logging.WARNING, "executor.unknown_tool", tool=name, error=failure)
    if recorder is not None:
        recorder.call(UNKNOWN_TOOL, seconds=0, error=failure, run=caller.run, sent=sent)
