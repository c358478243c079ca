"""Records: every call is one line of the log and one note for the statistics; one with effect is audited."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ot.audit.chain import OK
from ot.audit.log import AuditLog
from ot.clients.caller import Caller
from ot.context import CallContext
from ot.errors import (
    CallError,
    ConsentError,
    FlowDeniedError,
    NotGrantedError,
    OneToolError,
    ToolDeniedError,
    ToolFailedError,
    UntrustedPackError,
    UntrustedSnippetError,
)
from ot.execution.call import Call
from ot.execution.wording import word_error
from ot.logs import write_log, write_span
from ot.stats.recorder import UNKNOWN_TOOL, Recorder
from ot.tasks.large_values import LARGE_MESSAGE, MOST, aside, is_large
from ot.values import Arguments, ToolValue

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry, Traced

SLOW = 1.0  # seconds
POSITIONAL = "*"  # stands for the positional arguments of a call that was refused before they had names


class CallRecord:
    """A call while it lasts: `with CallRecord(...) as record`, and `end` once its value is there.

    Of one that may have an effect the audit log is told when it begins, or that it was refused.
    """

    __slots__ = (
        "_audit",
        "_call",
        "_clock",
        "_fields",
        "_received",
        "_recorder",
        "_start",
        "_telemetry",
        "_traced",
        "caller",
        "context",
        "entry",
    )

    def __init__(
        self,
        call: Call,
        recorder: Recorder | None,
        clock: Callable[[], float] = time.perf_counter,
        *,
        audit: AuditLog | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._call = call
        self._clock = clock
        self._fields: dict[str, object] = {"arguments": call.arguments}  # of the line
        self._recorder = recorder
        self._received = b""
        self._audit = audit
        self._telemetry = telemetry
        self._traced: Traced | None = None
        self.caller = call.caller  # as calls inside this one have it: they belong to its span
        self.context: CallContext | None = None  # once the function is called
        self.entry = 0  # the number of its line in the audit log; 0 if it has none
        if call.positional:
            self._fields["positional"] = call.positional

    def __enter__(self) -> Self:
        if self._telemetry is not None:
            call = self._call
            self._traced = traced = self._telemetry.begin_call(call.name, call.tool.effect, call.caller.span)
            if traced is not None:
                self.caller = replace(call.caller, span=traced.span)
        self._start = self._clock()
        return self

    async def begin(self, arguments: Arguments, allowed_by: str) -> None:
        """Write into the audit log that the call begins."""
        if self._audit is not None:
            call = self._call
            small = 0 < len(call.sent) <= MOST  # bytes, and so no more items
            given = self._audit.describe(arguments) if small else await _describe(self._audit, arguments, call.sent)
            self.entry = self._audit.begin(
                call.name, call.tool.effect, call.caller, depth=call.depth, allowed_by=allowed_by, given=given
            )

    async def refuse(self, error: CallError) -> None:
        """Write into the audit log that the call was refused, if that is what went wrong before it began."""
        call = self._call
        given = all_arguments(call.arguments, call.positional)
        await audit_refusal(self._audit, call.name, given, call.caller, call.depth, error, sent=call.sent)

    def end(self, value: ToolValue, received: bytes) -> None:
        """Say what the caller gets, as a value and as it is sent."""
        self._received = received
        self._fields["result"] = value

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        call, fields, seconds = self._call, self._fields, self._clock() - self._start
        failure = ""
        if error is not None:
            failure = _failure(error)
            if isinstance(error, CallError):
                fields["error"] = word_error(error)
        startup = 0.0 if self.context is None else self.context.startup
        if startup:
            fields["startup_ms"] = round(startup * 1000, 3)
        if self._recorder is not None:
            self._recorder.call(
                call.name, seconds - startup, failure, call.caller.run, call.depth, call.sent, self._received
            )
        if self._audit is not None and self.entry:
            self._audit.end(self.entry, failure or OK, seconds)
        if seconds > SLOW:
            fields["slow"] = True
        level = logging.WARNING if seconds > SLOW or isinstance(error, Exception) else logging.INFO
        write_span(level, call.name, "ok" if kind is None else kind.__name__, seconds, fields)
        if self._telemetry is not None:
            self._telemetry.end_call(self._traced, call.name, call.tool.effect, failure, seconds)


async def audit_refusal(
    audit: AuditLog | None,
    name: str,
    arguments: Arguments,
    caller: Caller,
    depth: int,
    error: CallError,
    *,
    sent: bytes = b"",
) -> None:
    """Write into the audit log that policy, a person or lack of trust refused something; no other error does."""
    refused_by = _word_refusal(error)
    if audit is not None and refused_by:
        given = await _describe(audit, arguments, sent)
        audit.refused(name, caller, depth=depth, refused_by=refused_by, given=given)


def audit_early_refusal(audit: AuditLog | None, name: str, caller: Caller, error: OneToolError) -> None:
    """Write into the audit log that code was refused something before it could call it, and so without arguments."""
    refused_by = _word_refusal(error)
    if audit is not None and refused_by:
        audit.refused(name, caller, depth=0, refused_by=refused_by, given=audit.describe({}))


def audit_answer(audit: AuditLog | None, context: CallContext, answer: str) -> None:
    """Write into the audit log what was answered to a question that an audited tool asks by itself."""
    if audit is not None and context.entry:
        audit.asked(context.entry, answer)


def all_arguments(arguments: object, positional: Sequence[ToolValue]) -> Arguments:
    """Return by name what was given to a call that nobody has checked: it may be anything."""
    named = arguments if isinstance(arguments, Mapping) else {}
    return {POSITIONAL: positional, **named} if positional else named


def record_unknown(name: str, error: CallError, caller: Caller, sent: bytes, recorder: Recorder | None) -> None:
    """Record a call of a tool that does not exist."""
    failure = type(error).__name__
    write_log(logging.WARNING, "executor.unknown_tool", tool=name, error=failure)
    if recorder is not None:
        recorder.call(UNKNOWN_TOOL, seconds=0, error=failure, run=caller.run, sent=sent)


async def _describe(audit: AuditLog, arguments: Arguments, sent: bytes) -> str:
    if len(sent) > LARGE_MESSAGE or is_large(arguments):
        return await aside(audit.describe, arguments)
    return audit.describe(arguments)


def _failure(error: BaseException) -> str:
    return error.kind if isinstance(error, ToolFailedError) else type(error).__name__


def _word_refusal(error: OneToolError) -> str:
    match error:
        case NotGrantedError():
            return "no group of theirs is granted it"
        case ToolDeniedError():
            return f"policy.deny names {error.rule}"
        case FlowDeniedError():
            return f"policy.flows: {error.read} was called before"
        case ConsentError():
            return f"{error.reason} ({error.rule})"
        case UntrustedPackError() | UntrustedSnippetError():
            return f"nobody has trusted it in {error.project}"
    return ""
