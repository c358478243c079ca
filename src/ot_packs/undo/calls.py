"""Calls that another tool undoes: an extension declares it (`@undone_by`), for a server the person does.

The tool is called through the same door as any other, so that policy and audit log see it. A call is undone once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject
from ot.context import CallContext
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot.files.changes import KIND
from ot.journal.inverse import ARGUMENTS, TOOL, VALUE, encoded, fill_in
from ot.journal.journal import word_arguments
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.run_changes import KeptChange, KeptChanges
from ot.store.parts import Place
from ot_packs.undo_steps import Step

CALLED, UNDONE = "called", "undone"  # kinds of notes: a call that an undo made, and one that was undone
FINAL = "it cannot be taken back"


class CallUndoer:
    """Calls the tools that undo others."""

    def __init__(self, context: CallContext, kept: KeptChanges, fetch: Callable[[Place], bytes]) -> None:
        self._context = context
        self._kept = kept
        self._fetch = fetch
        self._undone = {change.facts[TOOL] for change in kept.all if change.facts[KIND] == UNDONE}

    def inverse_of(self, tool: str) -> Mapping[str, str]:
        """Return the tool that undoes a tool, with its arguments; empty where there is none."""
        pack, _, name = tool.partition(".")
        settings = self._context.settings.packs.get(pack)
        declared: Mapping[str, str] = settings.undo.get(name, {}) if settings is not None else {}
        if not declared and self._context.registry.has(tool):
            declared = self._context.registry.get(tool).undone_by
        if not declared:
            return {}
        undoing = declared[TOOL]
        return {**declared, TOOL: undoing if "." in undoing else f"{pack}.{undoing}"}

    def as_change(self, call: RecordedCall, number: int) -> KeptChange:
        """Return a call of the journal as a change that can be undone; blocking where its value is large."""
        facts: JsonObject = {KIND: CALLED, TOOL: call.tool, ARGUMENTS: self._load(call.arguments, call.arguments_at)}
        if call.outcome is CallOutcome.VALUE and call.has_value:
            facts[VALUE] = self._load(call.value, call.value_at)
        return KeptChange(number, call.number, facts, "")

    def _load(self, given: Json, at: Place | None) -> Json:
        if at is None:
            return given
        try:
            loaded: Json = json.loads(self._fetch(at))
        except (OSError, ValueError):
            return None
        return loaded

    async def look(self, change: KeptChange) -> Step:
        tool = str(change.facts[TOOL])
        inverse = self.inverse_of(tool)
        if not inverse:
            return Step(change, f"{tool}({word_arguments(change.facts[ARGUMENTS])})", problem=FINAL)
        try:
            arguments = fill_in(inverse, change.facts)
        except ToolError as error:
            return Step(change, f"call {inverse[TOOL]} to undo {tool}", problem=error.message)
        step = Step(change, f"call {inverse[TOOL]}({word_arguments(encoded(arguments))})")
        step.done = str(change.call) in self._undone
        return step

    async def undo(self, step: Step) -> None:
        context, facts = self._context, step.change.facts
        inverse = self.inverse_of(str(facts[TOOL]))
        arguments = fill_in(inverse, facts)
        changes, number = context.changes, -1
        if changes is not None:
            noted: JsonObject = {KIND: CALLED, TOOL: inverse[TOOL], ARGUMENTS: encoded(arguments)}
            number, _ = await anyio.to_thread.run_sync(changes.note, noted)
        value = await context.call(inverse[TOOL], **arguments)
        undone: JsonObject = {KIND: UNDONE, TOOL: str(step.change.call)}
        await anyio.to_thread.run_sync(self._kept.add, step.change.call, undone)
        if changes is not None:
            await anyio.to_thread.run_sync(changes.add, number, {VALUE: encoded(value)})


def word_problem(error: CallError) -> str:
    return error.message if isinstance(error, ToolError) else word_error(error)
