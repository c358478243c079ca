"""The runner: a command in, one answer out. The steps, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import NOBODY, Caller, Notes
from ot.clients.memory import ClientMemory
from ot.clients.person import LOCAL
from ot.errors import LimitReachedError, OneToolError, StoreGoneError, UntrustedSnippetError
from ot.execution.tool_executor import ToolExecutor
from ot.kernel.supply import KernelSupply
from ot.limits import attends_runs
from ot.logs import LogSpan
from ot.registry.registry import ToolRegistry
from ot.run.answer import Answer
from ot.run.fence_processor import read_command
from ot.run.journalled_run import JournalledRun
from ot.run.keeping import Keeping
from ot.run.kernel_session import KernelSession
from ot.run.made_calls import MadeCalls
from ot.run.namespace import Namespace
from ot.run.outcome import Failure, Outcome, Value, error_kind
from ot.run.reporting import render_answer
from ot.run.run_id import new_run_id
from ot.run.run_view import RunView
from ot.run.snippets import Snippets
from ot.stats.recorder import RunRecord

LONG_COMMAND = 50_000  # characters
READERS = 2  # threads that read large messages of kernels: with more, everybody else would wait longer for a turn


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of runs."""

    timeout: float  # seconds
    patience: float  # seconds after which a client is answered while its run goes on; 0: never
    memory: int  # bytes
    inline_limit: int  # characters of an answer
    share: int  # of the kernels, that one of many people may have; 0: as usual
    snippets: Snippets


class _Asked(NamedTuple):
    """A run that is asked for."""

    command: str
    caller: Caller
    settings: RunSettings
    view: RunView
    attends_runs: bool  # it only waits for runs, ends one or lists them
    record: RunRecord
    deliver: Callable[[Answer], None] | None


class Runner:
    """Executes commands; each in a kernel of its own, and by the settings that hold when it begins."""

    def __init__(
        self,
        registry: ToolRegistry,
        executor: ToolExecutor,
        supply: KernelSupply,
        namespace: Namespace,
        keeping: Keeping,
        *,
        catch_up: Callable[[str], Awaitable[None]],
        settings: RunSettings,
    ) -> None:
        self._registry = registry
        self._executor = executor
        self._supply = supply
        self._namespace = namespace
        self._keeping = keeping
        self._catch_up = catch_up  # lets the registry see what has changed since the last run, and what this code needs
        self.settings = settings  # of runs that begin now
        self._readers = anyio.CapacityLimiter(READERS)
        self._unrecorded = itertools.count(1)  # numbers of runs that nobody records

    def apply(self, settings: RunSettings) -> None:
        """Use these settings for runs that begin from now on."""
        self.settings = settings

    async def run(
        self,
        command: str,
        *,
        caller: Caller = NOBODY,
        view: RunView | None = None,
        deliver: Callable[[Answer], None] | None = None,
        traced: bool = False,
    ) -> Answer:
        """Run one command and word its outcome; only cancellation is raised. `view` lets others look meanwhile.

        `deliver` is given the answer as soon as nothing has to happen before it leaves; one of a run that was refused
        is only returned. `traced` if whoever asks for it is part of a trace.
        """
        record = RunRecord(self._executor.recorder, command, caller.client)
        settings = self.settings
        number = record.number or next(self._unrecorded)
        caller = replace(
            self._executor.known(caller),
            run=number,
            run_id=caller.run_id or new_run_id(),
            notes=caller.notes or Notes(),
            run_memory=ClientMemory(),
        )
        asked = _Asked(
            command,
            caller,
            settings,
            view or RunView(),
            caller.principal != LOCAL and attends_runs(command),
            record,
            deliver,
        )
        telemetry = self._executor.telemetry
        if telemetry is None or not (traced or telemetry.meters or telemetry.tracer):
            return (await self._admit(asked))[0]
        with telemetry.run(caller.run_id) as run:
            asked = asked if run.span is None else asked._replace(caller=replace(caller, span=run.span))
            answer, error = await self._admit(asked)
            run.end(error)
            return answer

    async def _admit(self, asked: _Asked) -> tuple[Answer, str]:
        """Return the answer, and the type of what went wrong: also of a run that may not begin."""
        journal, limits = self._executor.journal, self._executor.limits
        try:
            if journal is not None and journal.waits:
                await journal.admit()
            if limits is None:
                return await self._carry_out(asked)
            async with limits.run(asked.caller.run_id, attends_runs=asked.attends_runs):
                return await self._carry_out(asked)
        except (StoreGoneError, LimitReachedError) as error:
            asked.view.outcome = refusal = Failure(error)
            answer = render_answer(refusal, inline_limit=asked.settings.inline_limit, registry=self._registry)
            return answer, error_kind(refusal)

    async def _carry_out(self, asked: _Asked) -> tuple[Answer, str]:
        command, caller, record = asked.command, asked.caller, asked.record
        notes = caller.notes or Notes()
        journalled, made = JournalledRun(self._executor.journal, command, caller), MadeCalls()
        with LogSpan("run.command", size=len(command)) as span, record, journalled:
            try:
                outcome = await self._execute(asked, made, journalled)
            except OneToolError as error:
                outcome = Failure(error)
            except anyio.get_cancelled_exc_class():
                self._add_made(made, notes)
                journalled.add_notes(notes, failed=True)
                raise
            asked.view.outcome = outcome
            span.add(outcome=type(outcome).__name__)
            answer = await self._answer(outcome, caller, asked.settings.inline_limit)
            told = notes.below(answer.text) if notes.lines else answer.text
            if isinstance(outcome, Failure):
                self._add_made(made, notes)
            journalled.add_notes(notes, failed=answer.is_error)
            if notes.lines:
                answer = replace(answer, text=notes.below(answer.text))
            journalled.end(outcome, told)
            if journalled.waits and (problem := await journalled.settle()):
                answer = replace(answer, text=f"{answer.text}\n{problem}")
            failure = error_kind(outcome) if isinstance(outcome, Failure) else ""
            record.end(answer.text, error=failure, attachments=len(answer.attachments))
            if asked.deliver is not None:
                asked.deliver(answer)
        return answer, failure

    def _add_made(self, made: MadeCalls, notes: Notes) -> None:
        words = made.word(self._executor.redactor)
        if words:
            notes.add(words)

    async def _execute(self, asked: _Asked, made: MadeCalls, journalled: JournalledRun) -> Outcome:
        command, caller, settings = asked.command, asked.caller, asked.settings
        long = len(command) >= LONG_COMMAND  # searched for fences on a thread, while others are answered
        code = await anyio.to_thread.run_sync(read_command, command) if long else read_command(command)
        try:
            expanded = settings.snippets.expand(code)
        except UntrustedSnippetError as error:
            self._executor.note_refused_snippet(error, caller)
            raise
        await self._catch_up(expanded.code)
        async with self._supply.take(caller.principal, share=settings.share, attends_runs=asked.attends_runs) as kernel:
            run = KernelSession(
                kernel,
                self._executor,
                self._namespace,
                limit=settings.timeout,
                memory=settings.memory,
                caller=caller,
                readers=self._readers,
                made=made,
            )
            request = self._namespace.request(expanded.code, expanded.values, limit=settings.inline_limit)
            with asked.view.opened(run):
                outcome, read = await run.complete(request, journalled.begin), caller.memory.read
                return await self._keeping.keep(outcome, kernel, limit=settings.inline_limit, read_before=read)

    async def _answer(self, outcome: Outcome, caller: Caller, limit: int) -> Answer:
        """Word an outcome; a value that turns out to be too long for an answer is kept first."""
        answer = render_answer(outcome, inline_limit=limit, registry=self._registry)
        if answer.cut and isinstance(outcome, Value) and outcome.total is None:
            kept = await self._keeping.keep_value(outcome, read_before=caller.memory.read)
            answer = render_answer(kept, inline_limit=limit, registry=self._registry)
        return answer
