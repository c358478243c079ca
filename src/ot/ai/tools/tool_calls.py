"""The calls of one turn: several at once, each through the executor, and none outlives the answer it belongs to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence

from ot.ai.conversation.messages import ToolCall, ToolMessage, ToolResult
from ot.ai.events import Event, ToolEnded, ToolStarted
from ot.ai.tools.offered_tools import OfferedTools
from ot.clients.caller import Caller
from ot.execution.tool_executor import ToolExecutor
from ot.tasks.owned_tasks import OwnedTasks
from ot.values import Image

NOT_BEGUN = "Not called: the answer was stopped first."
STOPPED = "The call was stopped before it was finished."


class CallRound:
    """The calls of one turn with their results so far: each has an answer at any moment."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = tuple(calls)
        self._results = {call.id: ToolResult(call, NOT_BEGUN, ok=False) for call in calls}

    def settle(self, result: ToolResult) -> None:
        """Record the result of one call."""
        self._results[result.call.id] = result

    def results(self) -> ToolMessage:
        """Return the results, in the order in which the model asked."""
        return ToolMessage(tuple(self._results[call.id] for call in self.calls))


class ToolCalls:
    """Carries out the calls of one client, at most `most` of a turn at once."""

    def __init__(
        self, executor: ToolExecutor, caller: Caller, *, most: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._executor = executor
        self._caller = caller
        self._most = most
        self._clock = clock

    async def carry_out(self, turn: CallRound, offered: OfferedTools) -> AsyncGenerator[Event]:
        """Make the calls, and yield as they begin and end; closing this stops those still running."""
        events: asyncio.Queue[Event] = asyncio.Queue()
        gate = asyncio.Semaphore(self._most)

        async def make(call: ToolCall) -> None:
            async with gate:
                events.put_nowait(ToolStarted(call.id, _shown_name(call, offered), call.arguments))
                started = self._clock()
                result = ToolResult(call, STOPPED, ok=False)
                try:
                    result = await self._call(call, offered)
                finally:
                    turn.settle(result)
                    name, seconds = _shown_name(call, offered), self._clock() - started
                    events.put_nowait(ToolEnded(call.id, name, seconds, result.ok, result.text))

        errors: list[BaseException] = []
        tasks = OwnedTasks(on_error=errors.append)
        try:
            for call in turn.calls:
                tasks.start(make, call)
            waiting = len(turn.calls)
            while waiting:
                event = await events.get()
                waiting -= isinstance(event, ToolEnded)
                yield event
        finally:
            await tasks.end()
        for error in errors:
            raise error

    async def _call(self, call: ToolCall, offered: OfferedTools) -> ToolResult:
        tool = offered.find(call.name)
        if tool is None or call.problem:
            unknown = offered.explain_unknown(call.name) if tool is None else ""
            problems = " ".join(part for part in (unknown, call.problem, "Nothing was called.") if part)
            return ToolResult(call, problems, ok=False)
        answer = await self._executor.answer(tool.tool, tool.arguments(call.arguments), caller=self._caller)
        images = tuple(item for item in answer.attachments if isinstance(item, Image))
        return ToolResult(call, answer.text, answer.ok, images)


def _shown_name(call: ToolCall, offered: OfferedTools) -> str:
    tool = offered.find(call.name)
    return call.name if tool is None else tool.tool
