"""Compiled code, executed as a plain module does it; code that awaits gets an event loop only if it needs one."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Coroutine
from types import CodeType, FrameType, GeneratorType
from typing import Any

from ot_kernel.compiler import AWAIT, ENTRY, IMPORT_STAR, Program
from ot_kernel.indentation import FILENAME
from ot_kernel.pack_proxy import PackProxy, know_tool, name_tools

NOTHING = object()
_INSPECT_COROUTINE = 0x80  # inspect.CO_COROUTINE

Scope = dict[str, object]  # the globals of the code


class RunInterrupted(BaseException):
    """The time limit is over. Not an Exception: it must pass every `except Exception` of the code."""

    # where coroutines waited, if it reached an event loop with nothing to do
    waiting: list[tuple[int, str]] | None = None


def find_line(frame: FrameType | None) -> int | None:
    """Return the line of the code that this frame is at, or has come from."""
    while frame is not None and frame.f_code.co_filename != FILENAME:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


def fill_scope(scope: Scope, program: Program, packs: dict[str, PackProxy], file: str = FILENAME) -> None:
    """Fill the globals of a module: packs, aliases, and the names that compiled code relies on."""
    for reference in program.references:
        pack = packs.get(reference["pack"])
        if pack is not None:
            know_tool(pack, reference["tool"])
    scope.update(name_tools(packs, program.aliases))
    scope["__builtins__"] = builtins
    scope["__file__"] = file
    scope[AWAIT] = _await_value
    scope[IMPORT_STAR] = lambda name: exec(f"from {name} import *", scope)


def execute(program: Program, scope: Scope, source: str) -> object:
    """Run a program to its end and return its value, or NOTHING; `source` is the text that it was compiled from."""
    if "asyncio" in source:
        _accept_plain_values()
    if "multiprocessing" in source:
        _lock_threads_only()
    codes = [code for code in (program.body, program.last) if code is not None]
    if program.entry and program.body is not None:
        exec(program.body, scope)
        entry: Any = scope.pop(ENTRY)
        codes = [entry.__code__]
    value: object = NOTHING
    if any(code.co_flags & _INSPECT_COROUTINE for code in codes):
        waiting = _run_each(codes, scope)
        value = _run_in_loop(waiting) if "import" in source else _run_without_loop(waiting)
    else:
        for code in codes:
            value = eval(code, scope)
    return value if program.last is not None or program.entry else NOTHING


async def _await_value(value: Any) -> object:
    """Await anything: a plain value comes back as it is."""
    if hasattr(type(value), "__await__"):
        return await value
    # CO_ITERABLE_COROUTINE
    is_awaitable = type(value) is GeneratorType and value.gi_code.co_flags & 0x100
    return await value if is_awaitable else value


async def _run_each(codes: list[CodeType], scope: Scope) -> object:
    value: Any = NOTHING
    for code in codes:
        value = eval(code, scope)
        if code.co_flags & _INSPECT_COROUTINE:
            value = await value
    return value


def _run_without_loop(coroutine: Coroutine[object, None, object]) -> object:
    """Run code that imports nothing: it can wait only for tools, and those answer at once."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the code waits for something that needs an event loop: import asyncio")


def _run_in_loop(coroutine: Coroutine[object, None, object]) -> object:
    import asyncio  # noqa: PLC0415 - large, and most programs never wait

    with asyncio.Runner() as runner:
        try:
            return runner.run(coroutine)
        except RunInterrupted as error:
            error.waiting = _suspended_at(coroutine)  # now: closing the loop ends the coroutine
            raise


def _suspended_at(coroutine: object) -> list[tuple[int, str]]:
    """Find the author's lines at which coroutines wait for each other, outermost first."""
    places = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and frame.f_code.co_filename == FILENAME:
            name = frame.f_code.co_name
            places.append((frame.f_lineno, "<module>" if name == ENTRY else name))
        coroutine = getattr(coroutine, "cr_await", None)
    return places


def _accept_plain_values() -> None:
    """Let asyncio's functions accept the value of a tool, which is already there, in place of an awaitable."""
    import asyncio  # noqa: PLC0415 - only for a program that names it

    async def ready(value: object) -> object:
        return value

    def wrap(value: object) -> object:
        return value if hasattr(type(value), "__await__") else ready(value)

    def accepting(function: Callable[..., object], *, several: bool) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            values = [wrap(value) for value in args] if several else [wrap(args[0]), *args[1:]]
            return function(*values, **kwargs)

        return call

    for name, several in (("gather", True), ("create_task", False), ("ensure_future", False), ("wait_for", False)):
        setattr(asyncio, name, accepting(getattr(asyncio, name), several=several))


def _lock_threads_only() -> None:
    """Let multiprocessing use the locks of threads: a run has no processes, and its ThreadPool needs locks as well."""
    import multiprocessing.context  # noqa: PLC0415 - only for a program that names it
    import threading  # noqa: PLC0415 - the same

    for name in ("Lock", "RLock", "Semaphore", "BoundedSemaphore", "Condition", "Event"):
        lock = getattr(threading, name)
        setattr(multiprocessing, name, lock)
        setattr(multiprocessing.context.BaseContext, name, staticmethod(lock))
