"""One call inside a worker: its value or its error becomes the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from itertools import islice

from ot_sdk import CallCancelled, ToolError, protocol
from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of
from ot_sdk.protocol import NoValueError

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from asyncio import Task
    from types import ModuleType
    from typing import Any, Callable

    from ot_sdk.json_types import Params

MAX_DRAINED = 10_000
_ASYNC = 0x80 | 0x200  # CO_COROUTINE and CO_ASYNC_GENERATOR of a function's code; `inspect` is slow to import


class Call:
    __slots__ = ("arguments", "cancelled", "function", "number", "slot", "task", "waits")

    def __init__(self, number: int, function: Callable[..., object], params: Params) -> None:
        self.number = number
        self.function = function
        self.arguments = params.get("arguments") or {}
        self.slot = params.get("slot")
        self.cancelled = False
        self.task: Task[None] | None = None  # where the tool is async
        self.waits: set[int] = set()  # what it asked of the server and has no answer to

    def invoke(self) -> object:
        """Return the tool's value, or something to be awaited for it."""
        if self.cancelled:
            raise CallCancelled
        return call_by_name(self.function, self.arguments)


def call_by_name(function: Callable[..., object], arguments: dict[str, Any]) -> object:
    """Call a tool with arguments by name, those that its annotations call dataclasses built as such."""
    code, variadic = getattr(function, "__code__", None), None
    if code is not None and code.co_flags & 0x04:  # CO_VARARGS: it takes all further positional arguments, `*words`
        variadic = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    if "dataclasses" in sys.modules and _file_has_dataclasses(function):
        from ot_sdk.fitting import fit_arguments  # noqa: PLC0415 - typing takes longer to import than all of a worker

        arguments = fit_arguments(function, variadic, arguments)
    if variadic is None:
        return function(**arguments)
    rest = {name: value for name, value in arguments.items() if name != variadic}
    return function(*arguments.get(variadic, ()), **rest)


def _file_has_dataclasses(function: Callable[..., object]) -> bool:
    names = getattr(sys.modules.get(function.__module__), "__dict__", {})
    return any(isinstance(value, type) and "__dataclass_fields__" in vars(value) for value in names.values())


def list_tools(module: ModuleType) -> list[str]:
    """Return the names of the public functions that the file itself defines."""
    public = [(name, value) for name, value in vars(module).items() if not name.startswith("_")]
    own = [(name, value) for name, value in public if getattr(value, "__module__", None) == module.__name__]
    return [name for name, value in own if callable(value) and not isinstance(value, type)]


def is_async(function: Callable[..., object]) -> bool:
    """True if calling it only gives something to be awaited or iterated over."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _ASYNC)


def needs_loop(value: object) -> bool:
    """True if a value has yet to be awaited."""
    return isinstance(value, (Awaitable, AsyncIterator))


def answer_with(call: Call, value: object) -> bytes:
    """Write the answer of a call that returned; an iterator is used up here."""
    try:
        if isinstance(value, Iterator) and not hasattr(value, "fileno"):
            value = drain(value)
        return protocol.write_result(call.number, value)
    except NoValueError as error:
        reason = f"its result cannot be returned from the worker: {error}"
        return protocol.write_error(call.number, protocol.NO_VALUE, reason)
    except BaseException as error:  # noqa: BLE001 - iterating runs the tool's code
        return answer_with_error(call, error)


def drain(iterator: Iterator[object]) -> list[object]:
    """Return the items of an iterator; raises NoValueError if there are too many."""
    items = list(islice(iterator, MAX_DRAINED + 1))
    refuse_too_many(items)
    return items


def refuse_too_many(items: list[object]) -> None:
    """Raise NoValueError for more items than an iterator may give."""
    if len(items) > MAX_DRAINED:
        raise NoValueError("the result", f"is an iterator of more than {MAX_DRAINED} items; return a part of it")


def answer_with_error(call: Call, error: BaseException) -> bytes:
    if call.cancelled:
        return protocol.write_error(call.number, protocol.CANCELLED, "cancelled")
    cause = innermost(error)
    details = {"kind": builtin_name(cause), "traceback": _traceback(error), "place": _place_of(cause)}
    if isinstance(cause, ToolError):
        kind = builtin_name(cause.__cause__) if cause.__cause__ is not None else ""
        return protocol.write_error(call.number, protocol.TOOL_ERROR, message_of(cause), kind=kind)
    code = protocol.UNAVAILABLE if is_network_failure(cause) else protocol.TOOL_FAILED
    return protocol.write_error(call.number, code, message_of(cause) or type(cause).__name__, **details)


def _place_of(error: BaseException) -> str:
    """Name the innermost line that is in a file of the extension's folder."""
    folder = os.path.dirname(getattr(sys.modules.get("__main__"), "__file__", None) or "")
    place = ""
    traceback = error.__traceback__
    while traceback is not None and folder:
        code = traceback.tb_frame.f_code
        if os.path.dirname(code.co_filename) == folder:
            place = f"{os.path.basename(code.co_filename)}, line {traceback.tb_lineno}, in {code.co_name}"
        traceback = traceback.tb_next
    return place


def _traceback(error: BaseException) -> str:
    try:
        import traceback  # noqa: PLC0415 - a call that succeeds has no need of it

        return "".join(traceback.format_exception(type(error), error, error.__traceback__))[-8000:]
    except Exception:  # noqa: BLE001 - an exception of foreign code may not let itself be written
        return "the traceback cannot be written"
