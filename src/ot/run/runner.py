"""The runner: a command in, one answer out. The steps, and nothing else."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import NOBODY, Caller, ClientMemory, Notes
from ot.clients.person import LOCAL
from ot.errors import CannotLookError, LimitReachedError, OneToolError, StoreGoneError, UntrustedSnippetError
from ot.execution.auditing import audit_early_refusal
from ot.execution.tool_executor import ToolExecutor
from ot.journal.journal import APPLY
from ot.journal.run_journal import RunJournal
from ot.kernel.supply import KernelSupply
from ot.limits import attends_runs
from ot.logs import write_log, write_span
from ot.registry.registry import ToolRegistry
from ot.run.answer import Answer
from ot.run.fence_processor import read_command
from ot.run.kernel_session import KernelSession, RunView
from ot.run.live_run import new_run_id
from ot.run.made_calls import MadeCalls
from ot.run.namespace import Namespace
from ot.run.outcome import Failure, Keeping, Nothing, Outcome, Value, error_kind
from ot.run.reporting import render_answer, word_partial
from ot.run.snippets import Expanded, Snippets

if TYPE_CHECKING:
    from ot.execution.plans import Preview
    from ot.run.previews import Previews
    from ot.run.view_handles import ViewHandles

LONG_COMMAND = 50_000  # characters
READERS = 2  # threads that read large messages of kernels: with more, everybody else would wait longer for a turn
CANCELLED = "cancelled"
AHEAD = 5.0  # seconds that are spent on looking ahead, before a person is asked


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of runs."""

    timeout: float  # seconds
    patience: float  # seconds after which a client is answered while its run goes on; 0: never
    memory: int  # bytes
    inline_limit: int  # characters of an answer
    share: int  # of the kernels, that one of many people may have; 0: as usual
    snippets: Snippets
    ask_within: float = 0.0  # seconds that a person may take who is asked elsewhere than at the client; 0: nobody is
    ask_command: tuple[str, ...] = ()  # that is told of such a question
    looks_ahead: bool = True  # before a person is asked


class _Asked(NamedTuple):
    """A run that is asked for."""

    command: str
    caller: Caller
    notes: Notes
    settings: RunSettings
    view: RunView
    attends_runs: bool  # it only waits for runs, ends one or lists them
    deliver: Callable[[Answer], None] | None
    preview: bool = False


@dataclass(eq=False, slots=True)
class _Ended:
    """How a run ended, for the statistics and the log."""

    answer: Answer = Answer("")
    error: str = ""  # the type of what went wrong
    status: str = "ok"
    level: int = logging.INFO
    fields: dict[str, object] = field(default_factory=dict)  # of the log line


@dataclass(eq=False)
class Runner:
    """Executes commands; each in a kernel of its own, and by the settings that hold when it begins."""

    _registry: ToolRegistry
    _executor: ToolExecutor
    _supply: KernelSupply
    _namespace: Namespace
    _keeping: Keeping
    _catch_up: Callable[[str], Awaitable[None]]  # lets the registry see what has changed, and what this code needs
    settings: RunSettings  # of runs that begin now
    handles: ViewHandles | None = None  # for answers that are shown
    _readers: anyio.CapacityLimiter = field(default_factory=partial(anyio.CapacityLimiter, READERS))
    _unrecorded: Iterator[int] = field(default_factory=partial(itertools.count, 1))  # runs that nobody records

    @property
    def project(self) -> Path:
        return self._executor.project

    @cached_property
    def previews(self) -> Previews:
        from ot.run.previews import Previews  # noqa: PLC0415 - few servers preview anything

        return Previews(self._executor, self._supply)

    async def run(
        self,
        command: str,
        caller: Caller = NOBODY,
        *,
        view: RunView | None = None,
        deliver: Callable[[Answer], None] | None = None,
        traced: bool = False,
        preview: bool = False,
    ) -> Answer:
        """Run one command and word its outcome; only cancellation is raised. `view` lets others look meanwhile.

        Of a `preview` it is only listed what the command would do.

        `deliver` is given the answer as soon as nothing has to happen before it leaves; one of a run that was refused
        is only returned. `traced` if whoever asks for it is part of a trace.
        """
        executor, notes = self._executor, caller.notes or Notes()
        caller = replace(
            caller,
            memory=executor.nobody if caller.memory is NOBODY.memory else caller.memory,
            run=next(self._unrecorded) if executor.recorder is None else next(executor.recorder.numbers),
            run_id=caller.run_id or new_run_id(),
            notes=notes,
            run_memory=ClientMemory(),
        )
        attends = caller.principal != LOCAL and attends_runs(command)
        asked = _Asked(command, caller, notes, self.settings, view or RunView(), attends, deliver, preview)
        telemetry = executor.telemetry
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
            if isinstance(error, LimitReachedError) and self._executor.telemetry is not None:
                self._executor.telemetry.refuse(error.key)
            asked.view.outcome = refusal = Failure(error)
            answer = render_answer(refusal, inline_limit=asked.settings.inline_limit, registry=self._registry)
            return answer, error_kind(refusal)

    async def _carry_out(self, asked: _Asked) -> tuple[Answer, str]:
        """Return the same for a run that begins; it is journalled, recorded and logged, whatever becomes of it."""
        began, journal = time.perf_counter(), self._executor.journal
        # Writes that the run begins, unless that is written: before its first call, or when it ends before that.
        begin = (lambda: None) if journal is None else cache(partial(journal.begin, asked.command, asked.caller))
        ended = _Ended()
        try:
            await self._complete(asked, begin, ended)
        except BaseException as error:
            ended.level = logging.WARNING if isinstance(error, Exception) else logging.INFO
            ended.status = ended.error = type(error).__name__
            if journal is not None:
                journal.end(begin(), CANCELLED, error=ended.error)
            raise
        finally:
            self._record(asked, ended, time.perf_counter() - began)
        return ended.answer, ended.error

    async def _complete(self, asked: _Asked, begin: Callable[[], RunJournal | None], ended: _Ended) -> None:
        """Execute a command, word the outcome, and deliver the answer once it is in the journal."""
        notes, made = asked.notes, MadeCalls()
        try:
            outcome = await self._find_outcome(asked, made, begin)
        except anyio.get_cancelled_exc_class():
            self._add_notes(notes, made, begin(), failed=True)
            raise
        asked.view.outcome = outcome
        ended.fields["outcome"] = type(outcome).__name__
        ended.error = error_kind(outcome) if isinstance(outcome, Failure) else ""
        kept, limit = outcome, asked.settings.inline_limit
        answer = shown = render_answer(outcome, inline_limit=limit, registry=self._registry)
        if answer.cut and isinstance(outcome, Value) and outcome.total is None:  # too long for an answer
            kept = await self._keeping.keep_value(outcome, read_before=asked.caller.memory.read)
            answer = render_answer(kept, inline_limit=limit, registry=self._registry)
        parts = () if isinstance(outcome, Failure) else outcome.partial
        whole = answer is shown and isinstance(outcome, Value) and outcome.total is None
        for line in word_partial(parts, self._registry, answer.text, whole=whole) if parts else ():
            notes.add(line)
        told = notes.below(answer.text) if notes.lines else answer.text
        run = begin()
        if answer.is_error or (run is not None and run.reuse is not None):
            self._add_notes(notes, made if isinstance(outcome, Failure) else None, run, failed=answer.is_error)
        if notes.lines:
            answer = replace(answer, text=notes.below(answer.text))
        if run is not None and self._executor.journal is not None:
            how = "error" if ended.error else "nothing" if isinstance(outcome, Nothing) else "value"
            self._executor.journal.end(run, how, error=ended.error, answer=told)
            if run.waits and (problem := await _settle(run)):
                answer = replace(answer, text=f"{answer.text}\n{problem}")
        if asked.caller.shown is not None and self.handles is not None:
            answer = replace(answer, shown=await self._show(kept, asked.caller, self.handles))
        ended.answer = answer
        if asked.deliver is not None:
            asked.deliver(answer)

    async def _show(self, outcome: Outcome, caller: Caller, handles: ViewHandles) -> JsonObject | None:
        """Return what a view shows of an outcome; None where the store has no key for it."""
        from ot.run.shown_answer import show_answer  # noqa: PLC0415 - few clients show views

        try:
            return await show_answer(outcome, caller, self._executor, handles)
        except OSError as error:
            write_log(logging.WARNING, "run.shown", error=error.strerror)
            return None

    def _add_notes(self, notes: Notes, made: MadeCalls | None, run: RunJournal | None, *, failed: bool) -> None:
        """Say below the answer what was done and reused and, where the run failed, how the next one can go on."""
        if made is not None and (words := made.word(self._executor.redactor)):
            notes.add(words)
        for line in run.notes(failed=failed) if run is not None else ():
            notes.add(line)

    def _record(self, asked: _Asked, ended: _Ended, seconds: float) -> None:
        recorder, caller, answer = self._executor.recorder, asked.caller, ended.answer
        if recorder is not None:
            attached = len(answer.attachments)
            recorder.run(caller.run, caller.client, seconds, ended.error, asked.command, answer.text, attached)
        fields = {"size": len(asked.command), **ended.fields}
        write_span(ended.level, "run.command", ended.status, seconds, fields)

    async def _find_outcome(self, asked: _Asked, made: MadeCalls, begin: Callable[[], RunJournal | None]) -> Outcome:
        """Execute a command and return its outcome, as it is told of a run that has a plan."""
        try:
            outcome = await self._execute(asked, made, begin)
        except OneToolError as error:
            outcome = Failure(error)
        if asked.caller.run_memory is not None and asked.caller.run_memory.plan is not None:
            return await self.previews.conclude(outcome, asked.caller, self._registry)
        return outcome

    async def _execute(self, asked: _Asked, made: MadeCalls, begin: Callable[[], RunJournal | None]) -> Outcome:
        command, caller, settings, view = asked.command, asked.caller, asked.settings, asked.view
        long = len(command) >= LONG_COMMAND  # searched for fences on a thread, while others are answered
        code = await anyio.to_thread.run_sync(read_command, command) if long else read_command(command)
        if APPLY in code and not asked.preview and (applied := await self.previews.apply(code, caller)):
            code = read_command(applied)
        try:
            expanded = settings.snippets.expand(code) if "$" in code else Expanded(code)
        except UntrustedSnippetError as error:
            executor = self._executor
            audit_early_refusal(executor.audit, f"${error.name}", executor.known(caller), error)
            raise
        await self._catch_up(expanded.code)
        await self._executor.hear(command, caller)
        async with self._supply.take(
            caller.principal, share=settings.share, attends_runs=asked.attends_runs, progress=caller.progress
        ) as kernel:
            if caller.looks and (key := self._supply.written_by):
                raise CannotLookError(key)
            if asked.preview:
                begin()
                await self.previews.begin(caller)
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
            view.program, view.begun = run, True
            if caller.ask is not None and settings.looks_ahead and caller.run_memory is not None:
                caller.run_memory.ahead = partial(self._look_ahead, asked, request)
            try:
                outcome = await run.complete(request, begin)
                printed = outcome.printed
                large = isinstance(outcome, Value) and outcome.large is not None
                if large or printed.dropped or len(printed.text) > settings.inline_limit:
                    return await self._keeping.keep(
                        outcome, kernel, limit=settings.inline_limit, read_before=caller.memory.read
                    )
                return outcome
            finally:
                view.program = None
                if caller.run_memory is not None:
                    caller.run_memory.ahead = None  # it leads back here

    async def _look_ahead(self, asked: _Asked, request: bytes) -> Preview | None:
        """Preview the rest of a run in another kernel; None where that cannot be done."""
        caller, settings = asked.caller, asked.settings
        begun = await self.previews.look_ahead(caller)
        if begun is None:
            return None
        preview, of_preview = begun
        if of_preview is None:
            return preview
        if not self._supply.has_free:
            return None
        with anyio.move_on_after(AHEAD + 1), suppress(OneToolError):
            async with self._supply.take(caller.principal, share=settings.share) as kernel:
                run = KernelSession(
                    kernel,
                    self._executor,
                    self._namespace,
                    limit=AHEAD,
                    memory=settings.memory,
                    caller=of_preview,
                    readers=self._readers,
                    made=MadeCalls(),
                )
                await run.complete(request, lambda: None)
        return preview


async def _settle(run: RunJournal) -> str:
    """Wait until everything is in the journal; say so if it is not."""
    try:
        await run.settle()
    except OSError as error:
        return f"This run is not in the journal: {error.strerror or error}."
    return ""
