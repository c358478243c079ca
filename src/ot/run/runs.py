"""Runs of MCP clients: one that takes longer than its client's patience goes on without it, and is waited for by id."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, field
from ot.clients.caller import Caller, Said
from ot.errors import NoDetachedRunError, RunUnreachableError, ToolError
from ot.logs import LogSpan, write_log
from ot.run.answer import Answer, RunsElsewhere, TaskLook, TaskNote
from ot.run.client_requests import HOLD, OpenQuestion, Questions, Settled
from ot.run.kept_answers import KeptAnswers
from ot.run.live_run import Deliver, LiveRun
from ot.run.patience import LONGEST_WAIT, Patience
from ot.run.reporting import word_running, word_stopped, word_task
from ot.run.runner import Runner
from ot.run.task_names import TaskNames
from ot.tasks.owned_tasks import OwnedTasks

MOST_DETACHED = 16  # runs that go on at once, each with its kernel
_ENDED_BEFORE = 'Run {0} had ended before. Its answer: ot.wait(run="{0}")'
_ENDED_WITH_SERVER = "The run ended with its server."
_STOPPED_WITH_SERVER = (
    'The run ended with its server. Its own code, begun with ot.resume(run="{0}"), goes on from what it had done.'
)
LOST = (
    "run {0} was lost with the server in which it went on. ot.runs() shows how far it came, "
    'and its own code, begun with ot.resume(run="{0}"), goes on from what it had done'
)
_BROKEN = "The run was lost to a mistake in OneTool; the log has it."
Work = Callable[[Caller], Awaitable[Answer]]
"""Does what a client wants, as the caller that it is given."""
_ANSWERING = 1.0  # seconds of its own limit that a run keeps for itself after waiting


@dataclass(eq=False)
class Runs:
    """Runs commands in tasks of their own, so that they can outlive the requests that began them, until it is closed.

    A run belongs to its principal; all runs here are of one project. `elsewhere` are the replicas of a team.
    `answered` says how the person of a run can answer its questions away from the client; without it, they cannot.
    """

    _runner: Runner
    _answers: KeptAnswers
    elsewhere: RunsElsewhere | None = None
    most: int = MOST_DETACHED
    hold: float = HOLD  # seconds that a question of a detached run waits for a client
    answered: Callable[[str], str] | None = None
    beside: Path | None = None  # the folder with what is too long for questions
    task_names: TaskNames | None = None  # without it, no run becomes a task
    _tasks: OwnedTasks = field(default_factory=OwnedTasks)
    _live: dict[str, LiveRun] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel all runs, and wait until they have ended; those who wait for one are told how to go on from it."""
        for run in self._detached():
            run.stopped = run.stopped or _STOPPED_WITH_SERVER.format(run.id)
        await self._tasks.end()

    async def run(self, command: str, *, caller: Caller) -> Answer:
        """Run a command for a client: its answer, or, when patience is over, how to get it.

        A client that leaves ends its run, unless it was answered before.
        """
        answer = await self.begin(command, caller).follow()
        assert isinstance(answer, Answer), "such a client is asked in the middle of its request"
        return answer

    def begin(
        self,
        command: str,
        caller: Caller,
        deliver: Deliver | None = None,
        *,
        since: float | None = None,
        questions: Questions | None = None,
        context: Context | None = None,
        takes_task: bool = False,
    ) -> LiveRun:
        """Begin a run at once, in a task of its own; `deliver` gets the answer, or whoever follows the run.

        The client has waited `since` a time of the event loop's clock. `questions` are put to a client that answers
        them with its next request. `context` are the context variables of a request that is part of a trace. A client
        that `takes_task` is answered with a task when its patience is over.
        """
        patient = self._runner.settings.patience or math.inf
        run = self._make(caller, deliver, patient, since=since, renewed=questions is not None)
        run.takes_task = takes_task and self.task_names is not None
        given, traced = partial(self._deliver, run), context is not None
        work = partial(self._runner.run, command, view=run.view, deliver=given, traced=traced)
        return self._start(run, work, questions, context)

    def begin_use(
        self, work: Work, caller: Caller, *, questions: Questions | None = None, context: Context | None = None
    ) -> LiveRun:
        """Begin what a client asks for beside code in the same way, so that it can be asked meanwhile.

        It never goes on without its client.
        """
        run = self._make(caller, None, math.inf)
        run.stays = True
        return self._start(run, work, questions, context)

    def _make(
        self,
        caller: Caller,
        deliver: Deliver | None,
        patient: float,
        *,
        since: float | None = None,
        renewed: bool = False,
    ) -> LiveRun:
        settings = self._runner.settings
        return LiveRun(
            caller,
            deliver,
            patience=Patience(patient, since=since, renewed=renewed),
            limit=settings.timeout,
            hold=self.hold,
            asks_within=settings.ask_within if self.answered is not None and caller.front is not None else 0.0,
            hear=self._hear_question,
        )

    def _start(self, run: LiveRun, work: Work, questions: Questions | None, context: Context | None) -> LiveRun:
        if questions is not None:
            run.ask_between(questions)
        self._live[run.id] = run
        run.when_due(partial(self._begin_watching, run))
        if not self._tasks.start(partial(self._carry_out, run), work, context=context):
            run.outcome = Answer(_ENDED_WITH_SERVER, is_error=True)
            self._end(run)
        return run

    async def preview(self, caller: Caller) -> None:
        """Let the run of this caller only show what it would do; raises RunEndingError."""
        await self._runner.previews.begin(caller)

    async def wait(self, name: str, *, seconds: float, caller: Caller) -> Answer:
        """Wait for a detached run: its answer, or what is new; raises ToolError and NoDetachedRunError."""
        run = self._find(name, caller)
        if run is None:
            told = None
            if self.elsewhere is not None:
                with self._waiting(caller, seconds) as most:
                    told = await self.elsewhere.wait(name, seconds=most, caller=caller)
            return told or await self._find_kept(name, caller)
        waiter = self._live.get(caller.run_id)
        with self._waiting(caller, seconds) as most:
            await run.attend(caller, most, None if waiter is None else waiter.is_idle)
        caller.memory.note(run.memory.read)
        if not run.ended:
            text = await self._word_running(run)
            if not run.ended:
                return Answer(text, running=True)
        return _answer_of(run)

    async def stop(self, name: str, *, caller: Caller) -> str:
        """End a detached run; raises ToolError and NoDetachedRunError."""
        run = self._find(name, caller)
        if run is None:
            told = None if self.elsewhere is None else await self.elsewhere.stop(name, caller=caller)
            if told is None:
                await self._find_kept(name, caller)
            return told or _ENDED_BEFORE.format(name)
        seen = await run.view.look(from_start=True)
        if run.ended:
            return _ENDED_BEFORE.format(name)
        limit = self._runner.settings.inline_limit
        run.stopped = word_stopped(run.id, seen, run.elapsed, inline_limit=limit)
        run.scope.cancel()
        await run.has_ended()
        caller.memory.note(run.memory.read)
        return _answer_of(run).text if run.stopped else _ENDED_BEFORE.format(name)

    async def questions(self, caller: Caller) -> list[OpenQuestion]:
        """Return the open questions of a principal's runs, in other replicas too, that may be answered elsewhere."""
        here = await self.questions_of(list(self._live), caller.principal)
        there = [] if self.elsewhere is None else await self.elsewhere.questions(caller.principal)
        return sorted((*here, *there), key=lambda each: each.since)

    async def settle(self, name: str, question: str, said: Said, *, caller: Caller) -> Settled | None:
        """Answer a question of a run from elsewhere; None if there is no such run."""
        settled = self.settle_here(name, question, said, caller.principal)
        if settled is None and self.elsewhere is not None:
            settled = await self.elsewhere.settle(name, question, said, caller.principal)
        return settled

    async def questions_of(self, names: Iterable[str], principal: str) -> list[OpenQuestion]:
        """Return the open questions of those of the runs that are here, with the files that they name."""
        runs = (run for name in names if (run := self._live.get(name)) is not None and run.principal == principal)
        found, folder = [question for run in runs for question in run.open_questions], self.beside
        if not found or folder is None:
            return found
        return await anyio.to_thread.run_sync(lambda: [each.with_files(folder) for each in found])

    def settle_here(self, name: str, question: str, said: Said, principal: str) -> Settled | None:
        run = self._live.get(name)
        return run.settle(question, said) if run is not None and run.principal == principal else None

    @contextmanager
    def _waiting(self, caller: Caller, seconds: float) -> Iterator[float]:
        """Have patience while a run waits for another one; gives the seconds for which it may. Raises ToolError."""
        seconds = min(seconds, LONGEST_WAIT, math.inf if caller.remaining is None else caller.remaining() - _ANSWERING)
        waiter = self._live.get(caller.run_id)
        if waiter is None or waiter.detached:
            yield seconds
            return
        with waiter.patience.waiting() as most:
            if most <= 0:
                raise ToolError(f"this run has waited for {LONGEST_WAIT:g} s already; wait again in another run")
            yield min(seconds, most)

    # -- the life of a run

    async def _carry_out(self, run: LiveRun, work: Work) -> None:
        try:
            with run.scope:
                await self._execute(run, work)
            if run.detached and run.outcome is not None:  # its answer is kept before anybody is told of it
                with LogSpan("run.detached", run=run.id, seconds=round(run.elapsed, 3)), anyio.CancelScope(shield=True):
                    read = run.memory.read
                    await self._answers.keep(run.id, _answer_of(run), principal=run.principal, read_before=read)
        finally:
            if not run.ended:
                self._end(run)
        if run.detached and run.outcome is not None:
            with anyio.CancelScope(shield=True):
                await self._make_unknown(run)
            self._forget(run)

    async def _execute(self, run: LiveRun, work: Work) -> None:
        try:
            run.outcome = await work(run.make_caller())
            run.stopped = ""  # too late
        except anyio.get_cancelled_exc_class():
            if not run.stopped:
                raise
            run.outcome = Answer(run.notes.below(run.stopped), is_error=True)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever follows this run, not to the server
            if run.detached:
                write_log(logging.ERROR, "run.detached", run=run.id, detail=traceback.format_exc())
            run.outcome = Answer(_BROKEN, is_error=True) if run.detached else error

    def _deliver(self, run: LiveRun, answer: Answer) -> None:
        """Let the client have the answer before the run is recorded and logged."""
        if not run.detached:
            run.outcome, run.stopped = answer, ""
            self._end(run)

    def _end(self, run: LiveRun) -> None:
        run.end()
        if not run.detached:
            self._forget(run)
            run.deliver(run.outcome)
        elif run.outcome is None:
            self._forget(run)

    def _hear_question(self, run: LiveRun, question: OpenQuestion) -> None:
        """Answer a client that cannot show a question at once, and let the person's program know of it."""
        if not run.detached:
            self._begin_watching(run)
        command = self._runner.settings.ask_command
        if command and self.answered is not None:
            from ot.run.ask_command import tell_program  # noqa: PLC0415 - few have such a program

            tell = partial(tell_program, command, answered=self.answered(run.id), folder=self._runner.project)
            self._tasks.start(tell, question)

    def _begin_watching(self, run: LiveRun) -> None:
        if not run.watched:
            run.watched = True
            self._tasks.start(self._watch, run)

    async def _watch(self, run: LiveRun) -> None:
        """Look after a run that takes longer than most: tell its client, and answer it when patience is over."""
        try:
            await run.outlast_patience()
            while not run.ended:
                if not self._may_detach(run):
                    await run.turn()
                    continue
                if self.elsewhere is not None and not run.known_elsewhere:  # before its client knows of it
                    run.known_elsewhere = True
                    try:
                        await self.elsewhere.add(run.id, run.principal)
                    except OSError as error:  # it is found here nevertheless
                        write_log(logging.WARNING, "run.known", error=error.strerror)
                        run.takes_task = False
                text, task = await self._word_running(run), await self._begin_task(run)
                shown = await self._show(run) if task is None else None
                if self._may_detach(run):
                    run.detached, run.is_task = True, task is not None
                    run.deliver(Answer(text, task=task, shown=shown))
                    return
        except Exception as error:  # noqa: BLE001 - it belongs to the client
            run.deliver(error)
            run.scope.cancel()
            await run.has_ended()
        if not run.detached:
            await self._make_unknown(run)

    def _forget(self, run: LiveRun) -> None:
        self._live.pop(run.id, None)
        if run.detached:
            for other in self._live.values():
                other.nudge()  # there may be room for it now

    async def _make_unknown(self, run: LiveRun) -> None:
        if self.elsewhere is not None and run.known_elsewhere:
            try:
                await self.elsewhere.drop(run.id, run.principal)
            except OSError as error:
                write_log(logging.WARNING, "run.unknown", error=error.strerror)

    def _may_detach(self, run: LiveRun) -> bool:
        return not (run.ended or run.stays or run.patience.asking) and len(self._detached()) < self.most

    async def _begin_task(self, run: LiveRun) -> TaskNote | None:
        with suppress(OSError):  # then its client gets what others get
            if run.takes_task and self.task_names is not None:
                return await self.task_names.begin(run, await self._word_task(run))
        return None

    async def _show(self, run: LiveRun) -> JsonObject | None:
        if run.client.shown is None or (handles := self._runner.handles) is None:
            return None
        from ot.run.shown_answer import show_going_on  # noqa: PLC0415 - few clients show views

        with suppress(OSError):  # then its client gets what others get
            return await show_going_on(run.id, run.client, handles)
        return None

    async def look(self, name: str, caller: Caller, answers: Mapping[str, JsonObject]) -> TaskLook | None:
        """Give answers to a run that is a task, and see what it does; None if it has ended."""
        here = await self.look_here(name, caller.principal, answers)
        there = self.elsewhere if here is None else None
        return here if there is None else await there.look(name, caller.principal, answers)

    async def look_here(self, name: str, principal: str, answers: Mapping[str, JsonObject]) -> TaskLook | None:
        run = self._live.get(name)
        if run is None or run.principal != principal or not run.detached or run.ended:
            return None
        questions = run.questions or Questions()
        questions.answer(answers)
        return TaskLook(await self._word_task(run), questions.contents)

    async def _word_task(self, run: LiveRun) -> str:
        seen = await run.view.look(from_start=True)
        answered = self.answered(run.id) if run.asks_elsewhere and self.answered is not None else ""
        return word_task(seen, run.elapsed, run.limit, run.latest, run.waits_for, answered=answered)

    async def _word_running(self, run: LiveRun) -> str:
        seen = await run.view.look()
        limit = self._runner.settings.inline_limit
        answered = self.answered(run.id) if run.asks_elsewhere and self.answered is not None else ""
        return word_running(run.id, seen, run.elapsed, run.limit, run.waits_for, limit, answered=answered)

    # -- finding one

    def _find(self, name: str, caller: Caller) -> LiveRun | None:
        if name == caller.run_id:
            raise ToolError(f"{name} is this run itself")
        run = self._live.get(name)
        return run if run is not None and run.principal == caller.principal and run.detached else None

    async def _find_kept(self, name: str, caller: Caller) -> Answer:
        kept = await self._answers.find(name, caller)
        if kept is not None:
            return kept
        lost_in = None if self.elsewhere is None else await self.elsewhere.lost_in(name, caller.principal)
        if lost_in:
            raise RunUnreachableError(name, lost_in)
        if lost_in is not None:
            raise ToolError(LOST.format(name))
        raise NoDetachedRunError(name, await self.detached_of(caller))

    async def detached_of(self, caller: Caller) -> list[str]:
        here = [run.id for run in self._detached() if run.principal == caller.principal]
        if self.elsewhere is None:
            return here
        return list(dict.fromkeys([*here, *await self.elsewhere.names(caller.principal)]))

    def has(self, name: str) -> bool:
        return name in self._live

    @property
    def going_on(self) -> bool:
        """True while a run goes on after its answer, and waits for nobody."""
        return any(not run.waits_for for run in self._detached())

    @property
    def count(self) -> int:
        """How many go on, with or without their clients."""
        return len(self._live)

    def in_progress(self) -> list[LiveRun]:
        """Return all that go on, with or without their clients."""
        return list(self._live.values())

    def _detached(self) -> list[LiveRun]:
        return [run for run in self._live.values() if run.detached]


def _answer_of(run: LiveRun) -> Answer:
    if isinstance(run.outcome, Exception):
        raise run.outcome
    return run.outcome or Answer(_ENDED_WITH_SERVER, is_error=True)
