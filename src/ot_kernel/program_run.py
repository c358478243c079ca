"""One program, from text to reply: compile, ask whether its references hold, execute, report."""

from __future__ import annotations

import builtins
import errno
import gc
import io
import itertools
import linecache
import signal
import sys
from collections.abc import Callable, Coroutine
from types import CodeType, FrameType, ModuleType, TracebackType

from ot_kernel.compiler import AWAIT, AliasCycle, Program, compile_program
from ot_kernel.indentation import FILENAME
from ot_kernel.large_results import ORDINARY, set_apart
from ot_kernel.pack_proxy import PackProxy, ToolError, build_namespace, know_tool
from ot_kernel.top_level_return import ENTRY, IMPORT_STAR
from ot_kernel.values import UnsupportedValueError, Value, encode
from ot_kernel.wire import Channel, Message

INTERRUPT = signal.SIGUSR1
MAX_FRAMES = 20
MAX_TEXT = 4_000
MAX_NOTES = 20
_DEEPEST_GROUP = 12  # characters of margin, three a level
_MOST_MEMBER_LINES = 60
_NOTHING = object()
_INSPECT_COROUTINE = 0x80  # inspect.CO_COROUTINE

_Scope = dict[str, Value]  # the globals of the code
_Frame = tuple[int, str, str]  # line, function, source


class RunInterrupted(BaseException):
    """The time limit is over. Not an Exception: it must pass every `except Exception` of the code."""

    waiting: list[tuple[int, str]] | None = (
        None  # where coroutines waited, if it reached an event loop with nothing to do
    )


def interrupt(_signum: int, _frame: FrameType | None) -> None:
    """Stop the code wherever it is, once: what it does on its way out is not interrupted again."""
    signal.signal(INTERRUPT, signal.SIG_IGN)
    raise RunInterrupted


class ProgramRun:
    """Runs the program of one request, and puts its outcome into a message."""

    def __init__(self, channel: Channel, request: Message) -> None:
        self._channel = channel
        self._request = request
        self._source: str = request["code"]

    def reply(self) -> Message:
        """Run the program; every way in which it can end has its message."""
        try:
            return self._reply_to(self._run())
        except BaseException as error:  # noqa: BLE001 - the edge: whatever the code raised is its outcome
            try:
                return self._describe(error)
            except BaseException as inner:  # noqa: BLE001 - it is made of the code's own objects
                return _describe_indescribable(error, inner)

    def _run(self) -> object:
        lines = io.StringIO(self._source, newline=None).readlines()  # split as Python does, and not at every \u2028
        linecache.cache[FILENAME] = (len(self._source), None, lines, FILENAME)
        request = self._request
        program = compile_program(
            self._source, packs=request["packs"], aliases=request["aliases"], values=request["values"]
        )
        if program.references:
            self._channel.send({"op": "references", "references": program.references})
            self._channel.receive()  # "go on"; a program that may not is killed instead
        return self._execute(program, self._build_module(program))

    def _build_module(self, program: Program) -> _Scope:
        """Build the globals of a plain `__main__`, with the packs in them."""
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        scope = module.__dict__
        names = build_namespace(self._channel, self._request["packs"], program.aliases)
        for reference in program.references:
            pack = names[reference["pack"]]
            if isinstance(pack, PackProxy):
                know_tool(pack, reference["tool"])
        scope.update(names)
        scope["__builtins__"] = builtins
        scope["__file__"] = FILENAME
        scope[AWAIT] = _await_value
        scope[IMPORT_STAR] = lambda name: exec(f"from {name} import *", scope)
        return scope

    def _execute(self, program: Program, scope: _Scope) -> object:
        if "asyncio" in self._source:
            _accept_plain_values()
        codes = [program.body, program.last] if program.last is not None else [program.body]
        if program.entry:
            exec(program.body, scope)
            codes = [scope.pop(ENTRY).__code__]
        value: object = _NOTHING
        if any(code.co_flags & _INSPECT_COROUTINE for code in codes):
            waiting = _run_each(codes, scope)
            value = _run_in_loop(waiting) if "import" in self._source else _run_without_loop(waiting)
        else:
            for code in codes:
                value = eval(code, scope)
        return value if program.last is not None or program.entry else _NOTHING

    def _reply_to(self, value: object) -> Message:
        if value is _NOTHING:
            return {"op": "nothing"}
        gc.disable()  # this process is about to end, and looking through a large result would take half of its time
        try:
            encoded = encode(value, where="the result")
        except (UnsupportedValueError, RecursionError):
            encoded = encode(repr(value))
        limit = self._request.get("limit", ORDINARY)
        return set_apart(encoded, limit=limit, write_file=self._channel.write_file) or {"op": "value", "value": encoded}

    def _describe(self, error: BaseException) -> Message:
        if isinstance(error, AliasCycle):
            return {"op": "alias_cycle", "names": error.names}
        if isinstance(error, RunInterrupted):
            frames = self._frames(error.__traceback__)
            return {"op": "interrupted", "frames": frames or [self._frame(*place) for place in error.waiting or ()]}
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return {"op": "nothing"}
        frames = self._frames(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename == FILENAME and error.lineno:
            frames.append(self._frame(error.lineno, "<module>"))
        return {
            "op": "error",
            "type": _type_name(error),
            "message": _message_of(error),
            "frames": frames[-MAX_FRAMES:],
            "names": [error.name] if isinstance(error, NameError) and isinstance(error.name, str) else [],
            "notes": [*self._members_of(error), *_notes_of(error)],
        }

    def _members_of(self, error: BaseException, margin: str = "  ") -> list[str]:
        """Describe the exceptions in a group, each with the author's lines that led to it."""
        if not isinstance(error, BaseExceptionGroup) or len(margin) > _DEEPEST_GROUP:
            return []
        described = []
        for number, member in enumerate(error.exceptions[:MAX_NOTES], 1):
            described.append(f"{margin}{number}. {_type_name(member)}: {_message_of(member)}")
            for line, function, source in self._frames(member.__traceback__)[-MAX_NOTES:]:
                where = "" if function == "<module>" else f", in {function}"
                described.append(f"{margin}   line {line}{where}: {source}")
            described += self._members_of(member, margin + "   ")
        if len(error.exceptions) > MAX_NOTES:
            described.append(f"{margin}and {len(error.exceptions) - MAX_NOTES} more")
        return described[:_MOST_MEMBER_LINES]

    def _frames(self, traceback: TracebackType | None) -> list[_Frame]:
        frames = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename == FILENAME:
                name = "<module>" if code.co_name == ENTRY else code.co_name
                frames.append(self._frame(traceback.tb_lineno, name))
            traceback = traceback.tb_next
        return frames

    def _frame(self, line: int, function: str) -> _Frame:
        return (line, function, linecache.getline(FILENAME, line).strip()[:200])


async def _await_value(value: Value) -> Value:
    """Await anything: a plain value comes back as it is."""
    return await value if hasattr(type(value), "__await__") or _is_awaitable_generator(value) else value


def _is_awaitable_generator(value: object) -> bool:
    return bool(getattr(getattr(value, "gi_code", None), "co_flags", 0) & 0x100)  # inspect.CO_ITERABLE_COROUTINE


async def _run_each(codes: list[CodeType], scope: _Scope) -> object:
    value: Value = _NOTHING
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
        return value if asyncio.isfuture(value) or hasattr(type(value), "__await__") else ready(value)

    def accepting(function: Callable[..., object], *, several: bool) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            values = [wrap(value) for value in args] if several else [wrap(args[0]), *args[1:]]
            return function(*values, **kwargs)

        return call

    for name, several in (("gather", True), ("create_task", False), ("ensure_future", False), ("wait_for", False)):
        setattr(asyncio, name, accepting(getattr(asyncio, name), several=several))


def _describe_indescribable(error: BaseException, inner: BaseException) -> Message:
    """Describe an error whose parts cannot be read, or were being read when the time ran out."""
    if isinstance(inner, RunInterrupted):
        return {"op": "interrupted", "frames": []}
    message = f"(its text could not be read: {type(inner).__name__})"
    return {"op": "error", "type": _type_name(error), "message": message, "frames": [], "names": [], "notes": []}


def _message_of(error: BaseException) -> str:
    """Return what the exception says about itself; its own code may fail at that."""
    try:
        if isinstance(error, SyntaxError):
            text = str(error.msg)
        elif isinstance(error, SystemExit):
            text = f"the code ended itself with sys.exit({error.code!r})"
        else:
            text = str(error)
    except BaseException as inner:  # noqa: BLE001 - a broken __str__ must not hide the error itself
        text = f"(its text could not be read: {type(inner).__name__})"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _type_name(error: BaseException) -> str:
    return _cut(type(error).__name__)


def _ran(traceback: TracebackType) -> bool:
    """True if running code raised it; the parser says MemoryError where code is nested too deeply."""
    last = traceback
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename == FILENAME


def _notes_of(error: BaseException) -> list[str]:
    notes = [_cut(str(note)) for note in itertools.islice(getattr(error, "__notes__", ()), MAX_NOTES)]
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        notes.append("A run may write at most 64 MB to a file, or to its output.")
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        notes.append("The scratch folder of a run holds at most 256 MB, in at most 20,000 files and folders.")
    elif isinstance(error, PermissionError) and not isinstance(error, ToolError):
        notes.append(_REFUSED)
    elif isinstance(error, EOFError):
        notes.append("A run has no input to read from.")
    elif isinstance(error, MemoryError) and error.__traceback__ is not None and _ran(error.__traceback__):
        notes.append("The memory limit of a run is execution.memory in the configuration.")
    cause = error.__cause__
    if cause is not None:
        notes.append(f"caused by {_type_name(cause)}: {_message_of(cause)}")
    return notes


_REFUSED = (
    "A run can only touch its own scratch folder; it cannot start processes, open connections or share memory. "
    "Files, commands and the network are reached through packs: ot.packs() lists them."
)
