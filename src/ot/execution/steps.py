"""The steps of a call as a list, built once for each tool from what it needs.

A tool is prepared on its first call, and again after it was registered again: the registry replaces what it has
registered when a pack, an extension or a server changes, and when the person says that tools only read. Another
configuration makes another `Preparation`. What a client has read and what a person has agreed to changes from call to
call, so the steps look at that themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Plan
from ot.config.models import Config
from ot.execution.auditing import AuditStep, RefusalStep
from ot.execution.call import Call, PreparedTool, Step, StepResult, prepare_tool
from ot.execution.invocation import CallStep, SecretStep
from ot.execution.policy import AskStep, DenyStep, LimitStep
from ot.execution.records import RecordStep, RedactionStep, ShapeStep, TraceStep
from ot.execution.resuming import JournalStep, ResumeStep, RunStep
from ot.execution.step_parts import StepParts
from ot.execution.validation import ArgumentStep
from ot.registry.definitions import Cancellation
from ot.registry.registry import RegisteredTool, ToolRegistry

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps in their order, by what is called when."""

    names: tuple[str, ...]
    until_value: tuple[Callable[[Call], StepResult], ...]
    with_value: Callable[[Call], StepResult]  # makes it ready, and delivers it
    ends: tuple[Callable[[Call], None], ...]
    fails: tuple[Callable[[Call, BaseException], Awaitable[None] | None], ...]


@dataclass(frozen=True, slots=True)
class ReadyTool:
    """A tool with the steps of its calls: by code in a run, and by anybody else, tools among them."""

    tool: PreparedTool
    by_code: Steps
    by_others: Steps
    check: ArgumentStep


class Preparation:
    """Prepares each tool on its first call, and again after it was registered again."""

    def __init__(self, registry: ToolRegistry, config: Config, parts: StepParts) -> None:
        self._registry = registry
        self._config = config
        self._parts = parts
        self._ready: dict[str, ReadyTool] = {}
        self._planned: dict[tuple[str, bool, bool], tuple[ReadyTool, Steps]] = {}

    def of(self, name: str) -> ReadyTool:
        """Return a tool that is ready to be called; raises UnknownPackError or UnknownToolError."""
        registered = self._registry.find(name)
        ready = self._ready.get(name)
        if ready is None or ready.tool.registered is not registered:
            ready = self._ready[name] = prepare_steps(registered, self._config, self._parts)
        return ready

    def in_plan(self, ready: ReadyTool, plan: Plan, *, by_code: bool) -> Steps:
        """Return the steps of a call in a run that has a plan."""
        key = ready.tool.definition.name, plan.previews, by_code
        known = self._planned.get(key)
        if known is None or known[0] is not ready:
            from ot.execution.planned_steps import with_plan  # noqa: PLC0415 - few servers preview anything

            usual = _list_steps(ready.tool, ready.check, self._parts, by_code=by_code)
            listed = with_plan(usual, ready.tool, ready.check, self._parts, plan)
            known = self._planned[key] = ready, order_steps(listed)
        return known[1]


def prepare_steps(registered: RegisteredTool, config: Config, parts: StepParts) -> ReadyTool:
    tool = prepare_tool(registered, config)
    check = ArgumentStep(tool.definition)
    return ReadyTool(
        tool,
        order_steps(_list_steps(tool, check, parts, by_code=True)),
        order_steps(_list_steps(tool, check, parts, by_code=False)),
        check,
    )


def _list_steps(tool: PreparedTool, check: ArgumentStep, parts: StepParts, *, by_code: bool) -> Iterator[Step]:
    """Yield the steps that a tool needs: this is their order, and that of the docstring of `tool_executor`."""
    # A call inside a call is part of the outer one. That of a skill gives code, and the calls in there are what counts.
    journal = parts.journal if by_code and tool.definition.cancellation is not Cancellation.SKILL else None
    keep = None
    if parts.telemetry is not None:
        yield TraceStep(parts.telemetry)
    if tool.guard.refused or tool.definition.lacks or not tool.reads or not by_code:
        yield DenyStep(tool)
    yield check
    if journal is not None:
        yield ResumeStep(tool, journal, parts.redactor)
    if parts.limits is not None:
        yield LimitStep(parts.limits)
    if not tool.guard.simple:
        yield AskStep(parts.policy, RunStep(tool, journal, parts.redactor).digest if journal is not None else None)
    if parts.audit is not None:
        yield AuditStep(parts.audit) if tool.audited else RefusalStep(parts.audit)
    if journal is not None:
        writing = JournalStep(tool, journal, parts.redactor)
        keep = writing.keep
        yield writing
    yield from [SecretStep(names, parts.unlock)] if (names := tool.definition.secrets) else ()
    yield CallStep(parts.services)
    if parts.policy.by_value is None:
        yield RedactionStep(parts.redactor, keep)
    else:
        from ot.execution.value_flows import BringingStep  # noqa: PLC0415 - loaded only where a rule goes by value

        yield BringingStep(parts.redactor, keep, parts.policy.by_value)
    if parts.shapes is not None and tool.definition.learns is not None:
        yield ShapeStep(tool.definition.learns, parts.shapes)
    yield RecordStep(parts.recorder)


def order_steps(listed: Iterable[Step]) -> Steps:
    """Group the methods that the steps have; redaction, which makes the value ready, comes after the call.

    A span is around all other steps, so it ends last: the line of the log that they write is in it.
    """
    steps = list(listed)
    ending = sorted(steps, key=lambda step: isinstance(step, TraceStep))
    place = next(place for place, step in enumerate(steps) if isinstance(step, RedactionStep))
    return Steps(
        tuple(type(step).__name__ for step in steps),
        tuple(step.begin for step in steps[:place] if type(step).begin is not Step.begin),
        steps[place].begin,
        tuple(step.end for step in ending if type(step).end is not Step.end),
        tuple(step.fail for step in ending if type(step).fail is not Step.fail),
    )
