"""The call itself: a tool's function in its context, within its time, and whatever it raises as one CallError."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from types import coroutine

from mcp_core.quick_dataclass import dataclass
from ot import errors
from ot.context import CallContext, CallServices, reset_current, set_current
from ot.execution.call import Call, Step
from ot.execution.wording import word_error
from ot.logs import write_log
from ot.tasks.owned_tasks import ReusableScope
from ot.values import ToolValue
from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of


def call_error_from(error: BaseException, tool: str) -> errors.CallError:
    """The error that the caller of `tool` gets; a CallError stays what it is, and learns which tool it was."""
    whole, error = error, innermost(error)
    if isinstance(error, errors.CallError):
        error.tool = error.tool or tool
        return error
    detail = "".join(traceback.format_exception(whole))
    if is_network_failure(error):
        write_log(logging.WARNING, "executor.unavailable", tool=tool, detail=detail)
        return errors.ServiceUnavailableError(tool, message_of(error) or type(error).__name__)
    incident = os.urandom(4).hex()
    write_log(logging.ERROR, "executor.failure", tool=tool, incident=incident, detail=detail)
    kind = "ImportError" if isinstance(error, errors.PackLoadError) else builtin_name(error)
    message = word_error(error) if isinstance(error, errors.OneToolError) else message_of(error) or type(error).__name__
    return errors.ToolFailedError(tool, kind, message, incident)


@dataclass(eq=False, slots=True)
class SecretStep(Step):
    """Reads the secrets that the keychain has for a tool; raises ToolError where it is locked."""

    _names: Sequence[str]
    _unlock: Callable[[Iterable[str]], Awaitable[None] | None]

    def begin(self, call: Call) -> Awaitable[None] | None:
        return self._unlock(self._names)


@dataclass(eq=False, slots=True)
class CallStep(Step):
    """Calls the tool's function; raises CallError and nothing else, apart from cancellation."""

    _services: CallServices

    async def begin(self, call: Call) -> bool:
        limit, key = time_limit(call)
        with call.scope or ReusableScope(stays=False) as scope:
            call.context = context = CallContext(
                call.name,
                self._services,
                caller=call.caller,
                deadline=time.monotonic() + limit,  # the event loop's clock, without looking for the loop
                depth=call.depth,
                effect=call.tool.effect,
                entry=call.audited,
                changes=call.entry or call.caller.changes,
                task_record=call.entry,
            )
            token = set_current(context)
            try:
                call.value = await _limited(call.tool.function(call.bound).__await__(), context, scope)
                if context.reports > 1:
                    await context.end_progress()
                return True
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or not task.cancelling():  # a tool raised it by itself
                    raise call_error_from(error, call.name) from error
                raise
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:  # the edge: the caller hears of whatever a tool raises
                if scope.cancel_called:
                    late = isinstance(error, errors.ToolStoppedError) and error.still_running
                    raise errors.ToolTimeoutError(call.name, limit, still_running=late, key=key) from error
                if context.reports > 1:
                    await context.end_progress()
                failure = call_error_from(error, call.name)
                # A pack's own error keeps the cause that the pack named: code may catch it as that.
                raise failure from failure.__cause__ if isinstance(failure, errors.ToolError) else error
            finally:
                reset_current(token)
        raise errors.ToolTimeoutError(call.name, limit, key=key)


@coroutine
def _limited(
    work: Generator[object, None, ToolValue], context: CallContext, scope: ReusableScope
) -> Generator[object, None, ToolValue]:
    """Do what a tool does within its time; most tools never wait for anything, and then nobody sets an alarm."""
    try:
        awaited = work.send(None)
        context.end_by(scope)
        while True:
            try:
                yield awaited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - as `yield from` does
                awaited = work.throw(error)
            else:
                awaited = work.send(None)
    except StopIteration as end:
        value: ToolValue = end.value
        return value


def time_limit(call: Call) -> tuple[float, str]:
    """Return the seconds that a call may take, the least of what tool, caller and run allow, and the key that says so.

    Raises ToolStoppedError where the run has no time left.
    """
    limit, key = call.tool.limit, call.tool.limit_key
    caller = call.caller
    if caller.timeout is not None and caller.timeout < limit:
        limit, key = caller.timeout, ""
    if caller.remaining is not None:
        left = caller.remaining()
        if left <= 0:
            raise errors.ToolStoppedError(call.name)
        if left < limit:
            limit, key = left, "execution.timeout"
    return limit, key
