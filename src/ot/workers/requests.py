"""The messages of a call in a worker: errors of its answer, calls of other tools, and its progress."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from ot.context import CallContext
from ot.errors import CallError, ServiceUnavailableError, ToolError, ToolFailedError, ToolStoppedError, UnknownToolError
from ot.logs import write_log
from ot.tasks.large_values import LARGE_MESSAGE, aside
from ot.tasks.owned_tasks import OwnedTasks
from ot.values import ToolValue
from ot.workers.extension import WorkerHost
from ot_sdk import protocol
from ot_sdk.protocol import NoValueError, decode


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
        number, tool, arguments, tagged = request
        try:
            if self._context is None:
                raise ToolError("other tools can be called only by a call that came through the executor")
            value = await self._context.call(tool, **await _open_arguments(arguments, tagged))
            answer = protocol.write_result(number, value, f"the result of {tool}")
        except CallError as error:
            answer = protocol.write_error(number, protocol.TOOL_ERROR, self._host.word(error))
        except (NoValueError, ValueError) as error:
            reason = f"the result of {tool} cannot be passed to an extension: {error}"
            answer = protocol.write_error(number, protocol.NO_VALUE, reason)
        self._write(answer)


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


def error_from(error: object, *, pack: str, tool: str) -> CallError:
    """Return the error that the caller of `pack.tool` gets for the `error` of an answer, which may hold anything."""
    facts = error if isinstance(error, Mapping) else {"message": str(error)}
    found = facts.get("data")
    data: Mapping[str, object] = found if isinstance(found, Mapping) else {}
    message = str(facts.get("message", ""))
    name, detail = f"{pack}.{tool}", str(data.get("traceback", ""))
    match facts.get("code"):
        case protocol.TOOL_ERROR:
            return _tool_error(message, name, data.get("kind"))
        case protocol.NO_VALUE:
            return _tool_error(message, name, "TypeError")
        case protocol.UNAVAILABLE:
            write_log(logging.WARNING, "worker.unavailable", tool=name, detail=detail)
            return ServiceUnavailableError(name, message)
        case protocol.CANCELLED:
            return ToolStoppedError(name)
        case protocol.NO_SUCH_TOOL:
            tools = data.get("tools")
            available = [str(each) for each in tools] if isinstance(tools, list) else []
            return UnknownToolError(name, pack=pack, available=available)
        case _:
            incident = os.urandom(4).hex()
            write_log(logging.ERROR, "worker.failure", tool=name, incident=incident, detail=detail)
            kind = _exception_type(data.get("kind")).__name__
            place = str(data.get("place", ""))[:300]  # an extension may say anything
            return ToolFailedError(name, kind, message, incident, place=place)


def _tool_error(message: str, tool: str, kind: object) -> ToolError:
    error = ToolError(message)
    error.tool = tool
    if kind:
        # Code may catch it as the builtin that the extension turned into a ToolError.
        found = _exception_type(kind)
        error.__cause__ = found.__new__(found)
    return error


def _exception_type(name: object) -> type[Exception]:
    found = getattr(builtins, str(name), None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError
