"""Previews of runs: begun by the code itself or for it, told in the answer, and applied once."""

from __future__ import annotations

import re
from functools import partial
from typing import cast

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import Caller, ClientMemory, Notes
from ot.errors import CallError, NoPreviewError, NotOnlyReadingError
from ot.execution.applying import paid_reads
from ot.execution.plans import Agreed, Answers, Preview
from ot.execution.tool_executor import ToolExecutor
from ot.journal.journal import APPLY
from ot.journal.planned import read_planned
from ot.kernel.supply import KernelSupply
from ot.registry.registry import ToolRegistry
from ot.run.live_run import new_run_id
from ot.run.outcome import Outcome
from ot.run.preview_answer import word_left, word_preview

_APPLY = re.compile(
    rf"""\s*{re.escape(APPLY)}\(\s*(?:preview\s*=\s*)?(["'])(?P<name>\w+)\1\s*"""
    r"(?:,\s*calls\s*=\s*\[(?P<calls>[0-9,\s]*)\]\s*)?\)\s*"
)


@dataclass(eq=False)
class Previews:
    """Lets runs be previews, and applies these."""

    _executor: ToolExecutor
    _supply: KernelSupply

    async def begin(self, caller: Caller) -> None:
        """Let the run of this caller be a preview from now on, which must be its beginning; raises RunEndingError."""
        memory, journal = caller.run_memory, self._executor.journal
        if memory is None or journal is None:
            raise NoPreviewError("only code in a run can be previewed")
        if memory.plan is not None:
            return  # it is one, or what one has listed is being done
        if key := self._supply.written_by:
            reason = f"the configuration lets code write files by itself ({key})"
            raise NoPreviewError(f"{reason}, so nothing could be kept from happening")
        memory.plan = Preview(await journal.preview(caller))

    async def apply(self, code: str, caller: Caller) -> str:
        """Return the command of the preview that this code applies; nothing where it does something else.

        Raises CallError where that preview cannot be applied, or was before.
        """
        found = _APPLY.fullmatch(code)
        journal = self._executor.journal
        if found is None or journal is None or caller.run_memory is None:
            return ""
        if caller.looks:
            raise NotOnlyReadingError(APPLY)
        listed = found["calls"]
        chosen = None if listed is None else frozenset(map(int, re.findall(r"[0-9]{1,9}", listed)))
        preview = await journal.take_preview(caller, found["name"], chosen)
        answers = paid_reads(preview.calls, self._executor.registry)
        await self._executor.hear(preview.command, caller)
        planned = [*map(read_planned, preview.planned)]
        caller.run_memory.plan = Agreed(
            preview.id, planned, [call.tool for call in planned], answers, project=self._executor.project
        )
        caller.run_memory.plan.chosen = chosen
        return preview.command

    async def look_ahead(self, caller: Caller) -> tuple[Preview, Caller | None] | None:
        """Return a preview of the rest of a run, and its caller, which gets what was made so far from the journal.

        Where the run goes by a list, that is the preview, without a caller. None where the journal does not have what
        is needed.
        """
        journal, memory = self._executor.journal, caller.run_memory
        run = None if journal is None else journal.open_runs.get(caller.run_id)
        if journal is None or run is None or memory is None or self._supply.written_by:
            return None
        if isinstance(memory.plan, Agreed):
            return Preview(listed=[*memory.plan.listed()]), None
        run.flush()
        try:
            await run.settle()
            found = await anyio.to_thread.run_sync(partial(journal.find, caller.principal, run.run, ended=False))
        except (OSError, CallError):
            return None
        preview = Preview(answers=Answers((call.digest, call) for call in (*found.calls, *found.left)))
        known = replace(caller.memory, read={*caller.memory.read}, stopped={*caller.memory.stopped})
        values = memory.of_run if memory.of_run is None else replace(memory.of_run, sources={**memory.of_run.sources})
        ahead = ClientMemory(plan=preview, of_run=values, counted={**memory.counted})
        nobody_asked = replace(caller, progress=None, ask=None, front=None)
        return preview, replace(nobody_asked, memory=known, run_memory=ahead, run_id=new_run_id(), notes=Notes())

    async def conclude(self, outcome: Outcome, caller: Caller, registry: ToolRegistry) -> Outcome:
        """Return the outcome of a run that has a plan, as it is told."""
        plan = caller.run_memory.plan if caller.run_memory is not None else None
        assert plan is not None, "only then is this called"
        if plan.previews:
            return await anyio.to_thread.run_sync(word_preview, outcome, caller, self._executor, registry)
        if caller.notes is not None and (left := word_left(cast("Agreed", plan))):
            caller.notes.add(left)
        return outcome
