"""Requests of a call in a worker to the server: calls of other tools, and progress for those who wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from ot.context import CallContext
from ot.errors import CallError, ToolError
from ot.logs import write_log
from ot.tasks.large_values import LARGE_MESSAGE, aside
from ot.tasks.owned_tasks import OwnedTasks
from ot.values import ToolValue
from ot.workers.host import WorkerHost
from ot_sdk import protocol
from ot_sdk.values import NoValueError, decode


class CallRequests:
    """The requests of one call. `end` must be awaited: nothing that a call asked for outlives it."""

    def __init__(self, context: CallContext | None, write: Callable[[bytes], None], host: WorkerHost) -> None:
        self._context = context
        self._write = write  # to the worker
        self._host = host
        self._tasks = OwnedTasks(on_error=_log_error)
        self._told: asyncio.Event | None = None  # set when there is no more progress to pass on
        self._progress: tuple[float, float | None, str] | None = None  # the latest, until it has been told

    def call(self, number: int, tool: str, arguments: dict[str, object], tagged: int) -> None:
        """Call another tool on its behalf, within the time left to it; `tagged` as in `open_value`."""
        self._tasks.start(self._call, (number, tool, arguments, tagged))

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Pass on its progress; of several reports in quick succession, the last."""
        self._progress = (done, total, message)
        if self._context is not None and (self._told is None or self._told.is_set()):
            self._told = asyncio.Event()
            self._tasks.start(self._tell, (self._context, self._told))

    async def end(self, *, hurried: bool = False) -> None:
        """Pass on its last progress, unless hurried, and stop everything that still runs for it."""
        if self._told is not None and not hurried:
            await self._told.wait()
        await self._tasks.end()

    async def _tell(self, listener: tuple[CallContext, asyncio.Event]) -> None:
        context, told = listener
        try:
            while self._progress is not None:
                latest, self._progress = self._progress, None
                await context.progress(*latest)
        finally:
            told.set()

    async def _call(self, request: tuple[int, str, dict[str, object], int]) -> None:
        self._write(await self._answer(*request))

    async def _answer(self, number: int, tool: str, arguments: dict[str, object], tagged: int) -> bytes:
        try:
            if self._context is None:
                raise ToolError("other tools can be called only by a call that came through the executor")
            value = await self._context.call(tool, **await _open_arguments(arguments, tagged))
            return protocol.write_result(number, value, f"the result of {tool}")
        except CallError as error:
            return protocol.write_error(number, protocol.TOOL_ERROR, self._host.word(error))
        except (NoValueError, ValueError) as error:
            reason = f"the result of {tool} cannot be passed to an extension: {error}"
            return protocol.write_error(number, protocol.NO_VALUE, reason)


async def _open_arguments(encoded: object, tagged: int) -> dict[str, ToolValue]:
    try:
        arguments = await open_value(encoded, tagged)
    except ValueError as error:
        raise ToolError(f"its arguments are invalid: {error}") from error
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        raise ToolError("its arguments are invalid: they have no names")
    return arguments


async def open_value(encoded: object, tagged: int) -> Any:
    """Decode what came in a line of that many bytes, if it holds tags; a large one on a thread. Raises ValueError."""
    if not tagged:
        return encoded
    return await aside(decode, encoded) if tagged > LARGE_MESSAGE else decode(encoded)


def _log_error(error: BaseException) -> None:
    """Log that a listener to progress cannot be reached."""
    write_log(logging.WARNING, "worker.request", error=type(error).__name__, reason=str(error))
