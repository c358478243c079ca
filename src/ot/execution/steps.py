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
from ot.audit.log import AuditLog
from ot.config.models import Config
from ot.context import CallServices
from ot.execution.auditing import AuditStep, RefusalStep
from ot.execution.call import Call, PreparedTool, Step, StepResult, prepare_tool
from ot.execution.invocation import CallStep
from ot.execution.policy import AskStep, DenyStep, LimitStep, Policy
from ot.execution.records import RecordStep, RedactionStep, ShapeStep, TraceStep
from ot.execution.resuming import JournalStep, ResumeStep
from ot.execution.validation import ArgumentStep
from ot.journal.journal import Journal
from ot.limits import PersonLimits
from ot.registry.definitions import Cancellation
from ot.registry.registry import RegisteredTool, ToolRegistry
from ot.shapes.shapes import Shapes
from ot.stats.recorder import Recorder
from ot.text.redaction import Redactor

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of the engine that steps are built from; those that are None are steps that no call has."""

    services: CallServices
    policy: Policy
    redactor: Redactor
    recorder: Recorder | None = None
    audit: AuditLog | None = None
    shapes: Shapes | None = None
    journal: Journal | None = None
    limits: PersonLimits | None = None
    telemetry: Telemetry | None = None


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


class Preparation:
    """Prepares each tool on its first call, and again after it was registered again."""

    def __init__(self, registry: ToolRegistry, config: Config, parts: StepParts) -> None:
        self._registry = registry
        self._config = config
        self._parts = parts
        self._ready: dict[str, ReadyTool] = {}

    def of(self, name: str) -> ReadyTool:
        """Return a tool that is ready to be called; raises UnknownPackError or UnknownToolError."""
        registered = self._registry.find(name)
        ready = self._ready.get(name)
        if ready is None or ready.tool.registered is not registered:
            ready = self._ready[name] = prepare_steps(registered, self._config, self._parts)
        return ready


def prepare_steps(registered: RegisteredTool, config: Config, parts: StepParts) -> ReadyTool:
    tool = prepare_tool(registered, config)
    check = ArgumentStep(tool.definition)
    return ReadyTool(
        tool,
        order_steps(_list_steps(tool, check, parts, by_code=True)),
        order_steps(_list_steps(tool, check, parts, by_code=False)),
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
        yield AskStep(parts.policy)
    if parts.audit is not None:
        yield AuditStep(parts.audit) if tool.audited else RefusalStep(parts.audit)
    if journal is not None:
        writing = JournalStep(tool, journal, parts.redactor)
        keep = writing.keep
        yield writing
    yield CallStep(parts.services)
    yield RedactionStep(parts.redactor, keep)
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
