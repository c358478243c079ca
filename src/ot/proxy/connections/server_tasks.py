"""Calls that have become tasks of their server: looked at until they end, answered, and cancelled there if given up.

A task is looked at no faster than its server says. Its questions go the way of all questions of that server, each
once, while nobody looks at the task. In the form of 2025 the server asks them by itself, once its result is awaited.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal, TypeAlias

import anyio
import mcp_types as types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import Field, TypeAdapter, ValidationError

from mcp_core.json_types import Json, JsonObject
from ot.context import TaskRecord
from ot.errors import ServerUnavailableError, ToolError
from ot.proxy.status import LostError, TaskGoneError
from ot.proxy.task_states import (
    DEFAULT_INTERVAL,
    EXTENSION,
    BadTaskError,
    Form,
    ServerTask,
    TaskState,
    check_result,
    read_state,
    read_task,
)
from ot_sdk.failures import message_of

GET, RESULT, UPDATE, CANCEL = "tasks/get", "tasks/result", "tasks/update", "tasks/cancel"
KEPT = 3_600_000  # milliseconds for which a server of 2025 is asked to keep a task
_MOST_ROUNDS = 10  # of questions, as the SDK has it for those in answers
_MOST_FAILURES = 3  # looks in a row that a server may answer with an error
_GOODBYE = 1.0  # seconds that a server has to take a cancellation
_MISTAKE = "This is a mistake of the server."
_UNKNOWN = frozenset({types.INVALID_PARAMS, types.METHOD_NOT_FOUND})
_QUESTION: TypeAdapter[types.InputRequest] = TypeAdapter(types.InputRequest)

Send: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends a request about a task, and returns the plain result; raises MCPError."""

Judge: TypeAlias = Callable[[MCPError], Awaitable[Exception]]
"""Returns what an error means for the call: a LostError or a ToolError."""

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


class TaskBegun(types.CallToolResult):
    """Stands for the result of a call that has become a task: the SDK wants one of this kind."""

    about: dict[str, object] = Field(default_factory=dict)


class _Begun(types.Result):
    """A task that was begun, unchecked."""

    result_type: Literal["task"]
    task_id: object = None
    poll_interval_ms: object = None


class TaskExtension(ClientExtension):
    """Lets servers answer a call with a task."""

    identifier = EXTENSION

    def claims(self) -> list[ResultClaim[_Begun]]:
        return [ResultClaim(result_type="task", model=_Begun, resolve=_stand_in)]


async def _stand_in(begun: _Begun, _: ClaimContext) -> TaskBegun:
    return TaskBegun(content=[], about=begun.model_dump(by_alias=True, mode="json"))


def needs_task(tool: Mapping[str, Json]) -> bool:
    """True if a server of 2025 offers a tool only as a task."""
    execution = tool.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


class ServerTasks:
    """The tasks at the server of one connection."""

    def __init__(self, server: str, send: Send, judge: Judge) -> None:
        self._server = server
        self._send = send
        self._judge = judge

    async def begin(self, tool: str, arguments: JsonObject) -> ServerTask:
        """Call a tool as a task of 2025; raises MCPError and ServerUnavailableError."""
        answer = await self._send("tools/call", {"name": tool, "arguments": arguments, "task": {"ttl": KEPT}})
        task = answer.get("task")
        return self._read(task if isinstance(task, dict) else {}, "2025-11-25")

    def begun(self, result: TaskBegun) -> ServerTask:
        """Read the task that a server has made of a call; raises ServerUnavailableError."""
        return self._read(result.about, "extension")

    def _read(self, about: Mapping[str, object], form: Form) -> ServerTask:
        try:
            return read_task(about, form)
        except BadTaskError as error:
            raise self._refuse(str(error)) from error

    async def follow(
        self, task: ServerTask, session: ClientSession, record: TaskRecord | None, report: Report | None, place: str
    ) -> JsonObject:
        """Return the result of a task; one that is given up is cancelled there.

        Raises TaskGoneError, LostError where it may go on there, ServerUnavailableError and ToolError.
        """
        watched = _Watched(task, session, self._send, report)
        try:
            if record is not None:
                await record.note_task(task.describe(place))
            return await watched.result()
        except (MCPError, BadTaskError, ValidationError) as error:
            failure = await self._judge(error) if isinstance(error, MCPError) else self._refuse(_reason(error))
            if isinstance(failure, LostError):
                raise failure from error
            await self._give_up(watched, record)
            if watched.gone:
                failure = TaskGoneError(f"no longer knows the task of this call ({message_of(error)})", begun=True)
            raise failure from error
        except BaseException:
            await self._give_up(watched, record)
            raise

    async def _give_up(self, watched: _Watched, record: TaskRecord | None) -> None:
        """Cancel a task there unless it has ended, and let no later run go on with it."""
        if record is not None:
            record.forget_task()
        if not watched.ended:
            with anyio.move_on_after(_GOODBYE, shield=True), suppress(MCPError):
                await self._send(CANCEL, {"taskId": watched.task.id})

    def _refuse(self, reason: str) -> ServerUnavailableError:
        return ServerUnavailableError("", server=self._server, reason=reason, begun=True, remedy=_MISTAKE)


def _reason(error: BadTaskError | ValidationError) -> str:
    return str(error) if isinstance(error, BadTaskError) else "asked something that does not follow the protocol"


class _Watched:
    """One task while it is looked at."""

    def __init__(self, task: ServerTask, session: ClientSession, send: Send, report: Report | None) -> None:
        self.task = task
        self.ended = False  # there
        self.gone = False  # the server does not know it
        self._session = session
        self._send = send
        self._report = report
        self._began = time.monotonic()
        self._said = ""
        self._asked: set[str] = set()
        self._rounds = 0

    async def result(self) -> JsonObject:
        """Wait for the end of the task; raises MCPError, BadTaskError, ValidationError and ToolError."""
        wait = self.task.interval
        while True:
            await anyio.sleep(wait)
            state = await self._look()
            await self._tell(state)
            if state.ended:
                return await self._finish(state)
            wait = state.interval
            if self.task.form == "extension":
                await self._answer(state)
            elif state.status == "input_required":
                with suppress(_StillGoingError):
                    return await self._await_result()

    async def _look(self) -> TaskState:
        """Ask for the state; a server may fail at that a few times."""
        failures = 0
        while True:
            try:
                state = read_state(await self._send(GET, {"taskId": self.task.id}), self.task)
            except MCPError as error:
                failures += 1
                self.ended = error.code in _UNKNOWN
                self.gone = self.ended or failures == _MOST_FAILURES
                if self.gone or error.code == types.CONNECTION_CLOSED:
                    raise
                await anyio.sleep(max(self.task.interval, DEFAULT_INTERVAL))
            else:
                self.ended = state.ended
                return state

    async def _finish(self, state: TaskState) -> JsonObject:
        if state.status == "cancelled":
            raise ToolError(f"its server cancelled the call, which it had made a task{_after(state.message)}")
        if self.task.form == "extension":
            if state.status == "failed":
                raise ToolError(state.error or state.message or "its server reported a failed task without a reason")
            return check_result(state.result, self.task)
        return check_result(await self._send(RESULT, {"taskId": self.task.id}), self.task)

    async def _await_result(self) -> JsonObject:
        """Wait for the result of a task of 2025 that wants to know something, which its server asks meanwhile."""
        try:
            return check_result(await self._send(RESULT, {"taskId": self.task.id}), self.task)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or (await self._look()).ended:
                raise
            self._count_round()
            raise _StillGoingError from error

    async def _answer(self, state: TaskState) -> None:
        """Have the questions answered that were not asked before, and send the answers."""
        asked = {key: question for key, question in state.requests.items() if key not in self._asked}
        if not asked:
            return
        self._count_round()
        self._asked |= asked.keys()
        questions = {key: _QUESTION.validate_python(question, by_name=False) for key, question in asked.items()}
        answers: JsonObject = {}
        refused: list[str] = []

        async def ask(key: str, question: types.InputRequest) -> None:
            context = ClientRequestContext(session=self._session, request_id=key)
            said = await self._session.dispatch_input_request(context, question)
            if isinstance(said, types.ErrorData):
                refused.append(said.message)
                tasks.cancel_scope.cancel()
            else:
                answers[key] = said.model_dump(by_alias=True, mode="json", exclude_none=True)

        async with anyio.create_task_group() as tasks:
            for key, question in questions.items():
                tasks.start_soon(ask, key, question)
        if refused:
            raise ToolError(refused[0])
        await self._send(UPDATE, {"taskId": self.task.id, "inputResponses": answers})

    def _count_round(self) -> None:
        self._rounds += 1
        if self._rounds > _MOST_ROUNDS:
            raise BadTaskError(f"asked questions more than {_MOST_ROUNDS} times for one task")

    async def _tell(self, state: TaskState) -> None:
        if self._report is not None and state.message not in ("", self._said):
            self._said = state.message
            await self._report(round(time.monotonic() - self._began), None, state.message)


class _StillGoingError(Exception):
    """The result of a task was asked for too early."""


def _after(message: str) -> str:
    return f": {message}" if message else ""
