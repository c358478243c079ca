"""The steps of a call in a run that has a plan: the usual ones, but for those that a plan replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ot.clients.caller import Plan
from ot.execution.applying import AgreedCallStep, AgreedStep
from ot.execution.auditing import AuditStep, RefusalStep
from ot.execution.call import PreparedTool, Step
from ot.execution.invocation import CallStep
from ot.execution.policy import AskStep, DenyStep
from ot.execution.previewing import PreviewCallStep, PreviewStep
from ot.execution.records import MadeRecordStep, RecordStep, ShapeStep
from ot.execution.resuming import ResumeStep
from ot.execution.step_parts import StepParts
from ot.execution.validation import ArgumentStep

_REPLACED = (DenyStep, ResumeStep, AskStep, ShapeStep)  # by what a preview decides


def with_plan(
    usual: Iterable[Step], tool: PreparedTool, check: ArgumentStep, parts: StepParts, plan: Plan
) -> Iterator[Step]:
    """Yield the steps of a call of this tool in a run with such a plan."""
    return (_preview if plan.previews else _go_by_list)(usual, tool, check, parts)


def _preview(usual: Iterable[Step], tool: PreparedTool, check: ArgumentStep, parts: StepParts) -> Iterator[Step]:
    """Have one step decide whether a call is made; nobody is asked."""
    assert parts.journal is not None, "without a journal there is no preview"
    decides = PreviewStep(tool, parts.journal, parts.redactor, check, parts.policy, parts.services)
    for step in usual:
        if step is check:
            yield decides
        elif isinstance(step, CallStep):
            yield PreviewCallStep(step, decides)
        elif isinstance(step, AuditStep) and parts.audit is not None:
            yield RefusalStep(parts.audit)
        elif isinstance(step, RecordStep):
            yield MadeRecordStep(parts.recorder)
        elif not isinstance(step, _REPLACED):
            yield step


def _go_by_list(usual: Iterable[Step], tool: PreparedTool, check: ArgumentStep, parts: StepParts) -> Iterator[Step]:
    """Look for each call on the list."""
    assert parts.journal is not None, "without a journal there is no list"
    for step in usual:
        yield AgreedCallStep(step, parts.journal, parts.redactor) if isinstance(step, CallStep) else step
        if step is check:
            yield AgreedStep(tool, parts.journal, parts.redactor)
