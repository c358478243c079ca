"""The plan of an undo: what can be put back, what has changed since, and what cannot be taken back at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import anyio.to_thread

from mcp_core.json_types import mapping_of
from mcp_core.quick_dataclass import dataclass, field
from ot.effects import Effect
from ot.files.changes import KIND
from ot.journal.journal import word_call
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun
from ot.journal.run_changes import MORE, TOO_MUCH, KeptChange, KeptChanges
from ot_packs.undo.calls import FINAL, OF_CALLS, CallUndoer
from ot_packs.undo_steps import DAMAGED, IN_DAMAGED, Step, Undoer

KEEPING = frozenset({"chart", "code", "convert", "diagram", "excel", "file", "git", "notes"})
"""Packs that note all that they change: a call of theirs without a note has changed nothing."""
_KEEPING_TOOLS = frozenset({"ot.apply", "ot.notify", "ot.reload", "ot.stats", "ot.undo"})
"""Tools of which the same is true."""
_READING_WITHOUT = {"db.query": "write"}
"""Tools that only read unless an argument is true."""


@dataclass(slots=True)
class Plan:
    """The steps of an undo, in their order."""

    run: RecordedRun
    final: list[str] = field(default_factory=list)  # calls that cannot be taken back
    steps: list[Step] = field(default_factory=list)

    @property
    def doable(self) -> list[Step]:
        return [step for step in self.steps if not step.problem and not step.done]

    @property
    def blocked(self) -> list[Step]:
        return [step for step in self.steps if step.problem]


async def make_plan(run: RecordedRun, kept: KeptChanges, undoers: Mapping[str, Undoer], calls: CallUndoer) -> Plan:
    """Go through the changes of a run in reverse order, as if all had been undone so far."""
    final = find_final(run.calls, kept.all)
    taken_back = [call for call in final if calls.inverse_of(call.tool)]
    plan = Plan(run, final=[word_call(call) for call in final if call not in taken_back])
    changes = await anyio.to_thread.run_sync(_in_order, run.calls, kept.all, taken_back, calls)
    for change in reversed(changes):
        kind = str(change.facts[KIND])
        if kind == MORE:
            plan.steps.append(Step(change, "undo the changes that were not noted", problem=TOO_MUCH))
            continue
        try:
            step = await undoers[kind].look(change)
        except IN_DAMAGED:
            step = Step(change, f"undo a change of the kind {kind[:40]!r}", problem=DAMAGED)
        if step.problem == FINAL:
            plan.final.append(step.words)
        else:
            plan.steps.append(step)
    return plan


def count_changes(run: RecordedRun, kept: KeptChanges, has_inverse: Callable[[str], object]) -> int:
    """Count what an undo of a run looks at: what was noted, and calls that another tool undoes."""
    noted = sum(1 for change in kept.all if change.facts[KIND] not in OF_CALLS)
    return noted + sum(1 for call in find_final(run.calls, kept.all) if has_inverse(call.tool))


def _in_order(
    calls: Sequence[RecordedCall], changes: Sequence[KeptChange], taken_back: Sequence[RecordedCall], undoer: CallUndoer
) -> list[KeptChange]:
    """Return the changes of a run together with calls that another tool undoes, each after those that began before."""
    last: dict[int, int] = {}
    for change in changes:
        last[change.call] = change.number
    found, latest = [(change.number, 0, change) for change in changes if change.facts[KIND] not in OF_CALLS], -1
    for count, call in enumerate(calls, 1):
        latest = max(latest, last.get(call.number, -1))
        if call in taken_back:
            found.append((latest, count, undoer.as_change(call, latest)))
    return [change for _, _, change in sorted(found, key=lambda each: each[:2])]


def find_final(calls: Sequence[RecordedCall], changes: Sequence[KeptChange]) -> list[RecordedCall]:
    """Return the calls that may have had an effect of which nothing was noted."""
    noted = {call for change in changes if change.facts[KIND] not in OF_CALLS for call in change.calls}
    return [
        call
        for call in calls
        if call.effect is not Effect.READS
        and call.outcome is not CallOutcome.ERROR
        and not call.reused
        and call.number not in noted
        and call.tool.partition(".")[0] not in KEEPING
        and call.tool not in _KEEPING_TOOLS
        and not _only_reads(call)
    ]


def _only_reads(call: RecordedCall) -> bool:
    name = _READING_WITHOUT.get(call.tool)
    return name is not None and call.arguments_at is None and not mapping_of(call.arguments).get(name)
