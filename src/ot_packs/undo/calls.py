"""Calls that another tool undoes: an extension declares it (`@undone_by`), for a server the person does.

The tool is called through the same door as any other, so that policy and audit log see it. A call is undone once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject
from ot.context import CallContext
from ot.errors import CallError, ToolError
from ot.execution.resuming import is_open_end
from ot.execution.wording import word_error
from ot.files.changes import KIND
from ot.journal.inverse import ARGUMENTS, TOOL, VALUE, encoded, fill_in, find_inverse
from ot.journal.journal import word_arguments
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.run_changes import KeptChange, KeptChanges
from ot.store.parts import Place
from ot_packs.undo_steps import Step

CALLED = "called"  # the kind of a note about a call that an undo makes
BEGUN, UNDONE, FAILED = "begun", "undone", "failed"  # kinds of notes about the undo of a call
OF_CALLS = frozenset({BEGUN, UNDONE, FAILED})
KEY = "key"  # which call a note is about
FINAL = "it cannot be taken back"
_NOT_CALLED = "not called"  # a note of a call says that it had no effect


class CallUndoer:
    """Calls the tools that undo others."""

    def __init__(self, context: CallContext, kept: KeptChanges, fetch: Callable[[Place], bytes]) -> None:
        self._context = context
        self._kept = kept
        self._fetch = fetch

    def _state_of(self, key: str) -> str:
        """Return how far the undo of a call has come: the latest note about it, if there is one."""
        found = [change for change in self._kept.all if change.facts[KIND] in OF_CALLS and change.facts[KEY] == key]
        return str(found[-1].facts[KIND]) if found else ""

    def inverse_of(self, tool: str) -> Mapping[str, str]:
        return find_inverse(tool, self._context.settings, self._context.registry)

    def as_change(self, call: RecordedCall, number: int) -> KeptChange:
        """Return a call of the journal as a change that can be undone; blocking where its value is large."""
        facts: JsonObject = {KIND: CALLED, TOOL: call.tool, ARGUMENTS: self._load(call.arguments, call.arguments_at)}
        facts[KEY] = str(call.number)
        if call.outcome is CallOutcome.VALUE:
            facts[VALUE] = self._load(call.value, call.value_at) if call.has_value else None
        return KeptChange(number, call.number, facts, "", {call.number})

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
        step = Step(change, f"call {inverse[TOOL]} to undo {tool}")
        state = self._state_of(_key_of(change))
        if state == UNDONE or change.facts.get(_NOT_CALLED):
            step.done = True
        elif VALUE not in change.facts:
            step.problem = f"it is not known whether {tool} was carried out"
        elif state == BEGUN:
            step.problem = f"an undo has called {inverse[TOOL]} before, and it is not known how that ended"
        else:
            try:
                arguments = encoded(fill_in(inverse, change.facts))
            except ToolError as error:
                step.problem = error.message
            else:
                step.words = f"call {inverse[TOOL]}({word_arguments(arguments)})"
        return step

    async def undo(self, step: Step) -> None:
        context, facts, key = self._context, step.change.facts, _key_of(step.change)
        inverse = self.inverse_of(str(facts[TOOL]))
        arguments = fill_in(inverse, facts)
        noted: JsonObject = {KIND: CALLED, TOOL: inverse[TOOL], ARGUMENTS: encoded(arguments)}
        if not await self._note(step, BEGUN, if_=lambda: self._state_of(key) not in (BEGUN, UNDONE)):
            raise ToolError("another undo has called it in the meantime")
        number, lost = -1, ""
        if context.changes is not None:
            number, lost = await anyio.to_thread.run_sync(context.changes.note, noted)
        if lost:
            context.note(f"The call of {inverse[TOOL]} cannot be undone: {lost}.")
        try:
            value = await context.call(inverse[TOOL], **arguments)
        except CallError as error:
            if not is_open_end(error):
                await self._note(step, FAILED)
                await self._add(number, {_NOT_CALLED: True})
            raise
        await self._note(step, UNDONE)
        await self._add(number, {VALUE: encoded(value)})

    async def _note(self, step: Step, kind: str, *, if_: Callable[[], bool] = lambda: True) -> bool:
        """Note how far the undo of a call has come, beside what its run has noted; raises ToolError."""
        facts: JsonObject = {KIND: kind, KEY: _key_of(step.change)}
        try:
            return await anyio.to_thread.run_sync(partial(self._kept.add, step.change.call, facts, if_=if_))
        except OSError as error:
            raise ToolError(f"it cannot be noted that it is undone: {error.strerror or error}") from error

    async def _add(self, number: int, facts: JsonObject) -> None:
        if self._context.changes is not None:
            await anyio.to_thread.run_sync(self._context.changes.add, number, facts)


def _key_of(change: KeptChange) -> str:
    """Return what tells a call from the others of its run, which may be one of several that an undo has made."""
    return str(change.facts.get(KEY, f"{change.call}/{change.number}"))


def word_problem(error: CallError) -> str:
    return error.message if isinstance(error, ToolError) else word_error(error)
