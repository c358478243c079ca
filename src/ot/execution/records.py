"""Records: every call is one line of the log and one note for the statistics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType

from ot.caller import Caller
from ot.errors import CallError, ToolFailedError
from ot.execution.call import Call
from ot.execution.wording import word_error
from ot.logs import LogSpan, write_log
from ot.stats.recorder import UNKNOWN_TOOL, Recorder
from ot.values import ToolValue

SLOW = 1.0  # seconds


class CallRecord(LogSpan):
    """A call while it lasts: `with CallRecord(...) as record`, and `end` once its value is there."""

    __slots__ = ("_call", "_received", "_recorder")

    def __init__(self, call: Call, recorder: Recorder | None, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(call.name, clock=clock, arguments=call.arguments)
        self._call = call
        self._recorder = recorder
        self._received = b""
        if call.positional:
            self.add(positional=call.positional)

    def end(self, value: ToolValue, received: bytes) -> None:
        """Say what the caller gets, as a value and as it is sent."""
        self._received = received
        self.add(result=value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, CallError):
            self.add(error=word_error(error))
        call, seconds = self._call, self.elapsed()
        if self._recorder is not None:
            self._recorder.call(
                call.name,
                seconds=seconds,
                error=_failure(error),
                run=call.caller.run,
                depth=call.depth,
                sent=call.sent,
                received=self._received,
            )
        if seconds > SLOW:
            self.add(slow=True)
            self.escalate(logging.WARNING)
        super().__exit__(kind, error, traceback)


def record_unknown(name: str, error: CallError, caller: Caller, sent: bytes, recorder: Recorder | None) -> None:
    """Record a call of a tool that does not exist."""
    failure = type(error).__name__
    write_log(logging.WARNING, "executor.unknown_tool", tool=name, error=failure)
    if recorder is not None:
        recorder.call(UNKNOWN_TOOL, seconds=0, error=failure, run=caller.run, sent=sent)


def _failure(error: BaseException | None) -> str:
    if isinstance(error, ToolFailedError):
        return error.kind
    return "" if error is None else type(error).__name__
