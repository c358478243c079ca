"""The answer of a preview: the calls that would be made, in order, where it ended and why, and how to apply it."""

from __future__ import annotations

from typing import cast

from ot.clients.caller import Caller
from ot.errors import NoPreviewError
from ot.execution.plans import Agreed, Listed, Preview
from ot.execution.tool_executor import ToolExecutor
from ot.registry.registry import ToolRegistry
from ot.run.outcome import CodeError, Failure, Outcome, Value
from ot.run.reporting import render_answer
from ot.store.quotas import CALLS
from ot.text.output import render

_ROOM = 20_000  # characters of the arguments of one call
_MOST_VALUE = 2_000  # characters of what the code gave
_UNCHANGED = "With the calls above not made yet, "  # what the code reads after them may differ once they are
_FAILS = "The code would end with an error:"
_STAND_IN = "StandIn"  # its name, as errors of the standard library have it


def word_preview(outcome: Outcome, caller: Caller, executor: ToolExecutor, registry: ToolRegistry) -> Outcome:
    """Return the outcome that tells what a run would do; blocking."""
    plan = caller.run_memory.plan if caller.run_memory is not None else None
    preview = cast("Preview", plan)
    lines = [_word_beginning(preview, caller.run_id)]
    for listed in preview.listed:
        lines += _word_call(listed, executor)
    preview.ending = _word_end(outcome, preview, registry)
    lines += preview.ending
    return Value("\n".join(lines), outcome.printed)


def _word_beginning(preview: Preview, name: str) -> str:
    """Say how many calls would be made, and how to make them, which comes first since a long answer is cut."""
    refused = sum(1 for listed in preview.listed if listed.call.refused)
    made = len(preview.listed) - refused
    calls = f"{made or 'No'} call{'' if made == 1 else 's'} would be made{f', {refused} refused' if refused else ''}."
    line = f"Preview {name}: nothing was changed. {calls if preview.listed else 'The code would change nothing.'}"
    journal = preview.journal
    if not made or journal is None:
        return line
    if journal.lost:
        return f"{line} They cannot be made by ot.apply: {journal.lost}."
    if not journal.verbatim:
        return f"{line} They cannot be made by ot.apply, since the code has a secret in it and is not kept."
    return f'{line} To make {"it" if made == 1 else "them"}, and nothing else: ot.apply(preview="{name}")'


def _word_call(listed: Listed, executor: ToolExecutor) -> list[str]:
    name, arguments, fate, changes = describe_call(listed, executor)
    return [
        f"{listed.call.number}. {name}{f'  ({fate})' if fate else ''}",
        *(f" {line}" for line in arguments),
        *(f"   {x}" for x in changes.split("\n") if x),
    ]


def describe_call(listed: Listed, executor: ToolExecutor) -> tuple[str, list[str], str, str]:
    """Return the name of a call, its arguments, what would become of it, and what it would change, all in words."""
    call = listed.call
    name, *arguments = executor.word_call(call.tool, listed.subject.arguments, _ROOM)
    fate = ""
    if call.refused:
        fate = f"refused: {call.refused}"
    elif not call.is_comparable:
        fate = "too large to be compared: ot.apply would stop before it"
    elif executor.limits is not None and call.number > (executor.limits.calls_per_minute or call.number):
        fate = f"limited: at most {executor.limits.calls_per_minute} calls in a minute, limits.{CALLS}"
    elif call.reasons:
        fate = f"a person is asked: {'; '.join(call.reasons)}"
    elif call.reads:
        fate = "only reads, and needs what another call gives"
    return name, arguments, fate, executor.redactor.text(listed.changes)


def can_be_applied(preview: Preview) -> bool:
    """True if `ot.apply` can make the calls of a preview."""
    made = any(not listed.call.refused for listed in preview.listed)
    journal = preview.journal
    return made and journal is not None and not journal.lost and journal.verbatim


def _word_end(outcome: Outcome, preview: Preview, registry: ToolRegistry) -> list[str]:
    """Say where the code came to, and what it gave or raised."""
    if preview.needed is not None:
        number, line = preview.needed
        where = f" at line {line}" if line else ""
        return [f"The preview ended{where}: the code needs what call {number} gives. What follows is not known."]
    if isinstance(outcome, Failure) and isinstance(outcome.error, NoPreviewError):
        return [f"The preview ended: {outcome.error.reason}. What follows is not known."]
    if isinstance(outcome, Failure):
        words = render_answer(Failure(outcome.error), inline_limit=_MOST_VALUE, registry=registry).text
        if isinstance(outcome.error, CodeError) and _STAND_IN in outcome.error.message:
            return [f"The preview ended: the code needs what a call gives. What follows is not known.\n{words}"]
        return [f"{_UNCHANGED}the code ends with an error:\n{words}" if preview.listed else f"{_FAILS}\n{words}"]
    if isinstance(outcome, Value):
        rendered = render(outcome.value, limit=_MOST_VALUE)
        more = " ..." if rendered.cut or outcome.total is not None else ""
        return [f"{f'{_UNCHANGED}it returns' if preview.listed else 'It would return'}: {rendered.text}{more}"]
    return []


def word_left(plan: Agreed) -> str:
    """Name the calls of a preview that were not made when it was applied; nothing where all were."""
    left = [call for call in plan.left if not (call.reads or call.refused)]
    if not plan.preview or not left:
        return ""
    return (
        f"Listed by preview {plan.preview}, and not made: {', '.join(f'{call.number}. {call.tool}' for call in left)}."
    )
