"""What a call in a worker asks of the server while it is carried out: other tools, and progress for whoever waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import anyio

from ot.context import CallContext
from ot.errors import CallError, ToolError
from ot.logs import write_log
from ot.processes.guarded_process import GuardedProcess
from ot.workers.host import WorkerHost
from ot_sdk import protocol
from ot_sdk.json_values import NotJsonError


class CallRequests:
    """Those of one call. `end` must be awaited: nothing that a call asked for outlives it."""

    def __init__(self, context: CallContext | None, process: GuardedProcess, host: WorkerHost) -> None:
        self._context = context
        self._process = process
        self._host = host
        self._tasks: dict[asyncio.Task[None], anyio.CancelScope] = {}
        self._telling: asyncio.Task[None] | None = None
        self._progress: tuple[float, float | None, str] | None = None  # the latest, until it has been told

    def call(self, number: int, tool: str, arguments: dict[str, Any]) -> None:
        """Call another tool for it, with the time that is left to it and as its caller."""
        self._start(self._call(number, tool, arguments))

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Pass on how far it is; of several in quick succession, the last."""
        self._progress = (done, total, message)
        if self._context is not None and (self._telling is None or self._telling.done()):
            self._telling = self._start(self._tell(self._context))

    async def end(self, *, hurried: bool = False) -> None:
        """The call has ended: what it told is passed on, unless hurried, and what still runs for it is stopped."""
        if not self._tasks:
            return
        if self._telling is not None and not hurried:
            await asyncio.wait([self._telling])
        with anyio.CancelScope(shield=True):
            for scope in self._tasks.values():
                scope.cancel()
            while self._tasks:
                await asyncio.wait(self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        scope = anyio.CancelScope()
        task = asyncio.get_running_loop().create_task(_within(scope, work))
        self._tasks[task] = scope
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:  # whoever listens to progress cannot be reached
            write_log(logging.WARNING, "worker.request", error=type(error).__name__, reason=str(error))

    async def _tell(self, context: CallContext) -> None:
        while self._progress is not None:
            told, self._progress = self._progress, None
            await context.progress(*told)

    async def _call(self, number: int, tool: str, arguments: dict[str, Any]) -> None:
        self._process.write(await self._answer(number, tool, arguments))

    async def _answer(self, number: int, tool: str, arguments: dict[str, Any]) -> bytes:
        try:
            if self._context is None:
                raise ToolError("other tools can be called only by a call that came through the executor")
            value = await self._context.call(tool, **arguments)
            return protocol.write_result(number, value, f"the result of {tool}")
        except CallError as error:
            return protocol.write_error(number, protocol.TOOL_ERROR, self._host.word(error))
        except (NotJsonError, ValueError) as error:
            reason = f"what {tool} returned cannot be given to an extension: {error}"
            return protocol.write_error(number, protocol.NOT_JSON, reason)


async def _within(scope: anyio.CancelScope, work: Coroutine[Any, Any, None]) -> None:
    with scope:
        await work
