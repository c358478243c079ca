"""Runs as tasks of the protocol: a client that takes tasks gets one where its patience ends, and asks for its state."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import field

import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import Caller
from ot.errors import (
    CallError,
    NoDetachedRunError,
    RunNotResumableError,
    RunUnreachableError,
    ToolError,
    UnknownRunError,
)
from ot.execution.wording import word_error
from ot.journal.journal import Journal
from ot.run.answer import Answer, TaskNote
from ot.run.runs import LOST, Runs
from ot.run.task_names import TaskNames, UnknownTaskError


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task: it goes on and may wait for answers, or has its own."""

    note: TaskNote
    questions: Mapping[str, JsonObject] = field(default_factory=dict)
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class RunTasks:
    """The tasks of one engine, wherever their runs go on."""

    runs: Runs
    names: TaskNames
    journal: Journal
    limit: Callable[[], float]  # seconds that a run may take

    async def get(self, task: str, caller: Caller, answers: Mapping[str, JsonObject] | None = None) -> TaskState:
        """Return the state of a task, once it was given answers; raises UnknownTaskError, and OSError."""
        run, began = await self.names.read(task, caller.principal)
        note = TaskNote(task, began, self.names.ttl(self.limit()))
        found = await self.runs.look(run, caller, answers or {})
        if found is not None:
            return TaskState(replace(note, message=found.message), found.questions)
        answer = await self._answer(run, caller)
        if caller.shown is None:
            answer = replace(answer, shown=None)
        return TaskState(note, answer=None if answer.running else answer)

    async def cancel(self, task: str, caller: Caller) -> None:
        """End the run of a task, unless it has ended; raises UnknownTaskError, and OSError."""
        run, _ = await self.names.read(task, caller.principal)
        try:
            await self.runs.stop(run, caller=caller)
        except NoDetachedRunError:
            await self._lost(run, caller.principal)
        except RunUnreachableError as error:
            raise OSError(errno.EHOSTUNREACH, word_error(error)) from error
        except ToolError:
            pass  # it was lost with its server, as its answer says

    async def _answer(self, run: str, caller: Caller) -> Answer:
        try:
            return await self.runs.wait(run, seconds=0.0, caller=caller)
        except NoDetachedRunError:
            return await self._lost(run, caller.principal)
        except RunUnreachableError:
            return Answer("", running=True)
        except CallError as error:
            return Answer(word_error(error), is_error=True)

    async def _lost(self, run: str, principal: str) -> Answer:
        """Answer for a run that has ended with its server, or goes on in another process, as the journal says."""

        def find() -> Answer:
            found = self.journal.find(principal, run, ended=False)
            if self.journal.going_on([found]):
                return Answer("", running=True)
            failed = not found.outcome or bool(found.error)
            return Answer(found.answer or LOST.format(run), is_error=failed)

        try:
            return await anyio.to_thread.run_sync(find)
        except (UnknownRunError, RunNotResumableError):
            raise UnknownTaskError from None
