"""A list of calls that a run goes by: that of a preview which is applied, or one that a person has agreed to.

Each listed call passes once, by its tool and arguments; where the result of another listed call is among them, it has
to be what that call gave. When a preview is applied, a call that may have an effect and is not on the list ends the
run. Otherwise it is asked about by itself. Calls inside a listed one are part of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, replace
from ot.errors import ConsentError, FileChangedSinceError, NotPlannedError
from ot.execution.call import Call, Step
from ot.execution.consent import NO
from ot.execution.invocation import CallStep
from ot.execution.plans import Agreed, Answers, is_paid
from ot.execution.previewing import value_of
from ot.execution.resuming import RunStep
from ot.files.ahead import find_changed
from ot.journal.journal import Journal, word_arguments
from ot.journal.planned import PlannedCall, with_unmade
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.reuse import JournalledValue
from ot.registry.registry import ToolRegistry
from ot.tasks.large_values import LARGE_MESSAGE, aside
from ot.text.redaction import Redactor


class AgreedStep(RunStep):
    """Finds a call on the list of its run, and ends the run where it has to be there and is not."""

    __slots__ = ()

    async def begin(self, call: Call) -> None:
        """Raises NotPlannedError and FileChangedSinceError."""
        plan = agreed_of(call)
        if plan.broken is not None:
            raise plan.broken
        if call.caller.admitted:
            return
        if not self._tool.reads:
            plan.early = Answers()
        elif (plan.answers or plan.early) and not call.depth:
            digest = self.digest(call.bound)
            call.before = plan.answers.take(digest) or plan.early.take(digest)
        call.planned = None if call.depth else await self._take(call, plan)
        if call.planned is not None:
            if plan.chosen is not None and not self._tool.reads and call.planned.number not in plan.chosen:
                raise ConsentError(call.name, NO, f"it is not among the calls={sorted(plan.chosen)} of ot.apply")
            await check_files(call, plan)
            call.caller = replace(call.caller, admitted=not self._tool.reads)
        elif not self._tool.reads and plan.preview:
            plan.broken = self._differs(call, plan)
            raise plan.broken

    async def _take(self, call: Call, plan: Agreed) -> PlannedCall | None:
        """Take a call off the list, so that no equal one passes for it, which may be looked for at the same time."""
        while mine := [planned for planned in plan.left if planned.tool == call.name and not planned.refused]:
            large = len(call.sent) > LARGE_MESSAGE
            found = await aside(self._find, call, plan, mine) if large else self._find(call, plan, mine)
            if found is None:
                break
            if found in plan.left:
                plan.left.remove(found)
                return found
        return None

    def _find(self, call: Call, plan: Agreed, mine: list[PlannedCall]) -> PlannedCall | None:
        digest = self.digest(call.bound)
        return next((planned for planned in mine if self._is_same(call, planned, digest, plan)), None)

    def _is_same(self, call: Call, planned: PlannedCall, digest: str, plan: Agreed) -> bool:
        if planned.places:
            found = with_unmade(call.bound, planned.places, plan.same)
            return found is not None and planned.digest == self.digest(found)
        return planned.digest == digest

    def _differs(self, call: Call, plan: Agreed) -> NotPlannedError:
        listed = [f"{each.tool}({word_arguments(each.arguments)})" for each in plan.left if each.tool == call.name]
        made = f"{call.name}({word_arguments(self.encoded(call.bound))})"
        return NotPlannedError(call.name, plan.preview, made, "; ".join(listed[:3]))


@dataclass(eq=False, slots=True)
class AgreedCallStep(Step):
    """Makes a call, or answers it with what an equal one gave before, and remembers what listed ones give."""

    _call: CallStep
    _journal: Journal
    _redactor: Redactor

    async def begin(self, call: Call) -> bool:
        plan = agreed_of(call)
        value = await aside(value_of, call.before, self._journal) if call.before is not None else None
        try:
            if value is not None:
                call.value, call.reused = JournalledValue(value), True
            else:
                await self._make(call, plan)
        finally:
            if plan.broken is not None and call.tool.reads:  # a call inside it was not on the list
                raise plan.broken
        if call.planned is not None:
            plan.note(call.planned.number, self._redactor.value(call.value))
        return True

    async def _make(self, call: Call, plan: Agreed) -> None:
        """Make a call. A person has agreed to others with the files as they were, or as agreed calls leave them."""
        if call.tool.reads or (call.depth and call.caller.admitted):
            await self._call.begin(call)
        elif call.allowed_by:
            await check_files(call, plan)  # somebody was asked meanwhile
            await self._call.begin(call)
            if plan.approved:
                await anyio.to_thread.run_sync(plan.mark_again)
        else:
            plan.strays += 1  # for good, if it fails: nobody knows what it has done by then
            await self._call.begin(call)
            if plan.approved:
                await anyio.to_thread.run_sync(plan.forget_changed)
            plan.strays -= 1


async def check_files(call: Call, plan: Agreed) -> None:
    """Raise FileChangedSinceError where a file is not as the preview showed it, and end the run with that."""
    if not plan.preview or call.planned is None or not call.planned.files:
        return
    changed = await aside(find_changed, call.planned.files)
    if changed is not None:
        plan.broken = FileChangedSinceError(call.name, plan.preview, changed)
        raise plan.broken


def agreed_of(call: Call) -> Agreed:
    plan = call.caller.run_memory.plan if call.caller.run_memory is not None else None
    assert isinstance(plan, Agreed), "such steps are only for calls of a run with a list"
    return plan


def paid_reads(calls: Iterable[RecordedCall], registry: ToolRegistry) -> Answers:
    """Return the calls of tools that somebody pays for, which are not made again."""
    made = (call for call in calls if call.outcome is CallOutcome.VALUE and registry.has(call.tool))
    return Answers((call.digest, call) for call in made if is_paid(registry.get(call.tool)))
