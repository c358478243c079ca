"""The audit log's step of a call: one with side effects is written before it begins and after it has ended.

Refused calls are written too, whoever refused them and whichever tool they were for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from mcp_core.quick_dataclass import dataclass
from ot import errors
from ot.audit.chain import OK
from ot.audit.log import AuditLog, summarize
from ot.clients.caller import Caller
from ot.context import CallContext
from ot.execution.call import Call, Step
from ot.tasks.large_values import LARGE_MESSAGE, MOST, aside, is_large
from ot.values import Arguments, ToolValue

POSITIONAL = "*"  # the key of positional arguments of a call that was refused before they had names


@dataclass(eq=False, slots=True)
class RefusalStep(Step):
    """Writes that a call was refused before it began; this is all that is audited of a tool that only reads."""

    _audit: AuditLog

    def fail(self, call: Call, error: BaseException) -> Awaitable[None] | None:
        if call.context is not None or not isinstance(error, errors.CallError):
            return None
        given = all_arguments(call.arguments, call.positional)
        return audit_refusal(self._audit, call.name, given, call.caller, call.depth, error, sent=call.sent)


class AuditStep(RefusalStep):
    """Writes the calls of a tool with side effects."""

    __slots__ = ()

    def begin(self, call: Call) -> Awaitable[None] | None:
        if not call.sent or len(call.sent) > MOST:  # bytes, and so no more items
            return self._begin_aside(call)
        given = summarize(call.bound, self._audit.redactor)
        call.audited = self._audit.begin(
            call.name, call.tool.effect, call.caller, depth=call.depth, allowed_by=call.allowed_by, given=given
        )
        return None

    def end(self, call: Call) -> None:
        if call.audited:
            self._audit.end(call.audited, call.failure or OK, call.seconds)

    def fail(self, call: Call, error: BaseException) -> Awaitable[None] | None:
        self.end(call)
        return super().fail(call, error)

    async def _begin_aside(self, call: Call) -> None:
        given = await _describe(self._audit, call.bound, call.sent)
        call.audited = self._audit.begin(
            call.name, call.tool.effect, call.caller, depth=call.depth, allowed_by=call.allowed_by, given=given
        )


async def audit_refusal(
    audit: AuditLog | None,
    name: str,
    arguments: Arguments,
    caller: Caller,
    depth: int,
    error: errors.CallError,
    *,
    sent: bytes = b"",
) -> None:
    """Write into the audit log that policy, a person or lack of trust refused something; no other error does."""
    refused_by = _word_refusal(error)
    if audit is not None and refused_by:
        given = await _describe(audit, arguments, sent)
        audit.refused(name, caller, depth=depth, refused_by=refused_by, given=given)


def audit_early_refusal(audit: AuditLog | None, name: str, caller: Caller, error: errors.OneToolError) -> None:
    """Write into the audit log that code was refused something before it could call it, and so without arguments."""
    refused_by = _word_refusal(error)
    if audit is not None and refused_by:
        audit.refused(name, caller, depth=0, refused_by=refused_by, given=summarize({}, audit.redactor))


def audit_answer(audit: AuditLog | None, context: CallContext, answer: str) -> None:
    """Write into the audit log what was answered to a question that an audited tool asks by itself."""
    if audit is not None and context.entry:
        audit.asked(context.entry, answer)


def all_arguments(arguments: object, positional: Sequence[ToolValue]) -> Arguments:
    """Return by name what was given to a call that nobody has checked: it may be anything."""
    named = arguments if isinstance(arguments, Mapping) else {}
    return {POSITIONAL: positional, **named} if positional else named


async def _describe(audit: AuditLog, arguments: Arguments, sent: bytes) -> str:
    if len(sent) > LARGE_MESSAGE or is_large(arguments):
        return await aside(summarize, arguments, audit.redactor)
    return summarize(arguments, audit.redactor)


def _word_refusal(error: errors.OneToolError) -> str:
    match error:
        case errors.NotGrantedError():
            return "none of their groups is granted it"
        case errors.ToolDeniedError():
            return f"policy.deny names {error.rule}"
        case errors.FlowDeniedError():
            return f"policy.flows: {error.read} was called before"
        case errors.ConsentError():
            return f"{error.reason} ({error.rule})"
        case errors.UntrustedPackError() | errors.UntrustedSnippetError():
            return f"nobody has trusted it in {error.project}"
    return ""
