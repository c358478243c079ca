"""A run in progress: hears its kernel, keeps its time, and finds out how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, replace
from ot import errors
from ot.clients.caller import Ask, Caller, Choice, Word
from ot.execution.tool_executor import ToolExecutor
from ot.kernel import limits
from ot.kernel.kernel import DUMP, INTERRUPT, Kernel
from ot.kernel.messages import decode_argument, read_large, weigh
from ot.run.kernel_calls import KernelCalls
from ot.run.kernel_questions import KernelQuestions
from ot.run.made_calls import MadeCalls
from ot.run.namespace import Namespace
from ot.run.outcome import CodeError, Failure, Frame, LargeValue, Nothing, Outcome, Printed, Seen, Value, read_partial
from ot.tasks.owned_tasks import Awaited, OwnedTasks
from ot_kernel.values import decode
from ot_kernel.wire import Message, WireError

if TYPE_CHECKING:
    from ot.execution.plans import Preview

GRACE = 0.5  # seconds for interrupted code to unwind before it is killed
ATTEMPTS = 5
DUMP_WAIT = 0.5
LINE_WAIT = 0.25
STATUS_WAIT = 2.0

# Errors of code that takes text for a value.
_OF_OTHER_KINDS = ("AttributeError", "TypeError")

# What reading a message that somebody made up can raise.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_INVALID = "the kernel sent an invalid message: "
_VALUES = frozenset({"args", "kwargs", "value", "head"})
_ENDINGS = frozenset({"value", "large", "nothing", "error", "alias_cycle", "unconfined", "interrupted"})


class RunClock:
    """Counts down while it is not held, and says when its time is up, between `start` and `stop`."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = seconds
        self._since = self._loop.time()
        self._holds = 0
        self._on_over: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def remaining(self) -> float:
        return self._left if self._holds else self._left - (self._loop.time() - self._since)

    def start(self, on_over: Callable[[], None]) -> None:
        """Have this called when the time is up, unless that is said before."""
        self._on_over = on_over
        if not self._holds:
            self._timer = self._loop.call_at(self._since + self._left, on_over)

    def stop(self) -> None:
        """Say nothing any more."""
        self._on_over = None
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the clock meanwhile: a person is asked, or an environment is being installed."""
        if not self._holds:
            self._left = self.remaining()
        self._holds += 1
        self._set_timer()
        try:
            yield
        finally:
            self._holds -= 1
            self._since = self._loop.time()
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._on_over is not None and not self._holds:
            self._timer = self._loop.call_at(self._since + self._left, self._on_over)


class KernelSession:
    """Answers what the kernel asks until there is an outcome. No call outlives it."""

    def __init__(
        self,
        kernel: Kernel,
        executor: ToolExecutor,
        namespace: Namespace,
        *,
        limit: float,
        memory: int,
        caller: Caller,
        readers: anyio.CapacityLimiter,
        made: MadeCalls,
    ) -> None:
        self._kernel = kernel
        self._limit = limit
        self._memory = memory
        self._clock = RunClock(limit)
        ask = None if caller.ask is None else hold_while_asking(caller.ask, self._clock.held)
        self._caller = replace(caller, remaining=self._clock.remaining, ask=ask, hold=self._clock.held)
        self._tasks = OwnedTasks()
        self._calls = KernelCalls(kernel, executor, self._caller, self._tasks, made)
        self._questions = KernelQuestions(kernel, executor, namespace, self._caller)
        self._readers = readers  # threads that read large messages, of all runs: each takes turns with everybody else
        self._reading = asyncio.Lock()
        self._end_awaited: Awaited[None] | None = None
        self._ending: Callable[[], Outcome | None] | None = None  # gives None where the kernel was lost
        self._timed_out = False

    async def complete(self, request: bytes, meanwhile: Callable[[], object]) -> Outcome:
        """Start the program and stay with it to its end; `meanwhile` is done while the kernel reads it."""
        self._kernel.on_message = self._on_message
        self._kernel.on_large = lambda large: self._begin_reading(len(large), lambda: (read_large(large), large))
        self._kernel.on_lost = lambda _: self._end(lambda: None)
        try:
            self._kernel.send_payload(request)
            meanwhile()
            self._clock.start(self._go_on)
            await self._until_end()
            if self._ending is None:
                self._timed_out = True
                await self._interrupt()
            if self._ending is None:
                return self._fail(errors.RunTimeoutError(self._limit, self._kernel.dumped_line()))
            try:
                outcome = self._ending()
            except _NONSENSE as error:
                return self._fail(errors.RunRefusedError(f"the kernel's answer could not be read: {error}"))
            return await self._post_mortem() if outcome is None else outcome
        finally:
            self._clock.stop()
            await self._tasks.end()
            self._ending = None  # it holds on to this; what is in no circle goes without a search for garbage

    # -- what it is doing

    def look(self, start: int, line: int | None) -> tuple[Seen, int]:
        """Return what it is doing and has printed since an offset, and the offset of what comes next."""
        text, dropped, end = self._kernel.printed_since(start)
        printed = Printed(text, dropped)
        return Seen(begun=True, printed=printed, calls=tuple(self._calls.in_flight()), line=line), end

    async def find_line(self) -> int | None:
        """Ask the code which line it is at; None if it does not tell soon."""
        for _ in range(ATTEMPTS):
            asked = self._kernel.ask_for_line()
            with anyio.move_on_after(LINE_WAIT / ATTEMPTS):
                while (line := self._kernel.told_line(asked)) is None:  # noqa: ASYNC110 - another process writes it
                    await anyio.sleep(0.005)
                return line
        return None

    # -- endings

    def _end(self, ending: Callable[[], Outcome | None]) -> None:
        if self._ending is None:
            self._ending = ending
            self._calls.closed = True
            self._go_on()

    async def _until_end(self) -> None:
        if self._ending is None:
            self._end_awaited = Awaited(asyncio.get_running_loop())
            await self._end_awaited

    def _go_on(self) -> None:
        if self._end_awaited is not None and not self._end_awaited.settled:
            self._end_awaited.give(None)

    async def _interrupt(self) -> None:
        """Ask the code to stop; if it does not, find out where it is before it is killed."""
        for _ in range(ATTEMPTS):  # Python misses a signal that comes just before it begins to wait for a lock
            self._kernel.signal(INTERRUPT)
            with anyio.move_on_after(GRACE / ATTEMPTS):
                await self._until_end()
                return
        self._kernel.signal(DUMP)
        with anyio.move_on_after(DUMP_WAIT):
            while self._kernel.dumped_line() is None:  # noqa: ASYNC110 - a signal handler of another process writes it
                await anyio.sleep(0.01)

    async def _post_mortem(self) -> Outcome:
        """Find out how a kernel died that left no answer, and at which line if it could tell."""
        if self._calls.stopped_by is not None:
            return self._fail(self._calls.stopped_by)
        with anyio.move_on_after(STATUS_WAIT):
            await self._kernel.ended.wait()
        line = self._kernel.dumped_line()
        if self._timed_out:
            return self._fail(errors.RunTimeoutError(self._limit, line))
        if self._kernel.overrun is not None:
            limit = {"scratch": limits.SCRATCH, "threads": limits.THREADS}.get(self._kernel.overrun, self._memory)
            return self._fail(errors.RunLimitError(self._kernel.overrun, limit, line))
        return self._fail(errors.RunCrashedError(self._kernel.status, line))

    def _read_ending(self, message: Message) -> Outcome:
        match message["op"]:
            case "value" | "large":
                return self._value(message)
            case "nothing":
                return Nothing(Printed(*self._kernel.printed()), read_partial(message))
            case "error":
                return self._fail(self._code_error(message))
            case "alias_cycle":
                return self._fail(errors.AliasCycleError([str(name) for name in message["names"]]))
            case "unconfined":
                return self._fail(errors.SandboxError([str(layer) for layer in message["failed"]]))
            case _:  # interrupted
                line = next((frame.line for frame in reversed(_frames(message)) if not frame.file), None)
                return self._fail(errors.RunTimeoutError(self._limit, line))

    def _value(self, message: Message) -> Value:
        value, total = message["head" if message["op"] == "large" else "value"], message.get("total")
        printed = Printed(*self._kernel.printed())
        partial = read_partial(message) if "parts" in message else ()
        if total is None:
            notes = self._caller.notes if self._caller.client else None  # at a command line a program may read on
            suspected = self._calls.lookalikes
            if notes is not None and suspected is not None and (note := suspected.explain(value)):
                notes.add(note)
            return Value(value, printed, partial=partial)
        large = LargeValue(str(message["name"]), str(message["kind"])) if message["op"] == "large" else None
        not_kept = str(message.get("not_kept", ""))[:200]
        return Value(value, printed, int(total), large, not_kept=not_kept, partial=partial)

    def _code_error(self, message: Message) -> CodeError:
        kind, notes = str(message["type"]), [str(note) for note in message["notes"]]
        suspected = self._calls.lookalikes if kind in _OF_OTHER_KINDS else None
        if suspected is not None and (note := suspected.suspect()):  # what a tool gave is no such value
            notes.append(note)
        names = tuple(str(name) for name in message["names"])
        return CodeError(kind, str(message["message"]), tuple(_frames(message)), names, tuple(notes))

    def _fail(self, error: CodeError | errors.OneToolError) -> Failure:
        return Failure(error, Printed(*self._kernel.printed()))

    # -- messages

    def _on_message(self, message: Message) -> None:
        payload = self._kernel.received
        try:
            if message["op"] == "file":
                self._begin_reading(0, partial(self._kernel.read_spilled, message))
                return
            if b"$" in payload or b"\\u0024" in payload:  # elsewhere no key is the mark of a tag: values are themselves
                message = _decoded(message, self._plan)
            self._handle(message, payload, len(payload))
        except _NONSENSE as error:
            self._refuse(f"{_INVALID}{error}")

    def _begin_reading(self, size: int, read: Callable[[], tuple[Message, bytes]]) -> None:
        self._calls.backlog.count_unread(1, size)
        if not self._tasks.start(partial(self._read_aside, size), read):
            self._calls.backlog.count_unread(-1, size)

    async def _read_aside(self, size: int, read: Callable[[], tuple[Message, bytes]]) -> None:
        """Read a large message on a thread, one at a time, when there is room for it."""

        def read_and_weigh() -> tuple[Message, bytes, int]:
            message, payload = read()
            return _decoded(message, self._plan), payload, weigh(message, payload)

        try:
            async with self._reading:
                await self._calls.backlog.room()
                found = await anyio.to_thread.run_sync(read_and_weigh, abandon_on_cancel=True, limiter=self._readers)
            self._handle(*found)
        except errors.RunRefusedError as error:
            self._refuse(error.reason)
        except (*_NONSENSE, WireError) as error:
            self._refuse(f"{_INVALID}{error}")
        finally:
            self._calls.backlog.count_unread(-1, size)

    def _handle(self, message: Message, payload: bytes, weight: int) -> None:
        """Do what a message asks; `payload` is the message as it came, `weight` about how many bytes it takes."""
        if message["op"] == "call":
            self._calls.take(message, payload, weight)
        elif message["op"] == "needed":
            self._end_preview(message)
        elif message["op"] in _ENDINGS:
            self._end(partial(self._read_ending, message))
        elif message["op"] == "references":
            try:
                self._questions.judge(message)
            except errors.PreflightError as error:
                self._end(partial(self._fail, error))
            else:
                self._kernel.send({"op": "go"})
        else:
            self._questions.answer(message)

    def _end_preview(self, message: Message) -> None:
        """End a preview whose code needs the result of a call that was not made; it is never answered."""
        if self._plan is None:
            raise ValueError("this is no preview")
        self._plan.end(message["number"], message["line"])
        self._end(lambda: Nothing(Printed(*self._kernel.printed())))

    @property
    def _plan(self) -> Preview | None:
        plan = self._caller.run_memory.plan if self._caller.run_memory is not None else None
        return cast("Preview", plan) if plan is not None and plan.previews else None

    def _refuse(self, reason: str) -> None:
        self._end(lambda: self._fail(errors.RunRefusedError(reason)))


def _decoded(message: Message, preview: Preview | None) -> Message:
    """Decode the values in a message; this takes time by their size, so a large one is decoded on a thread.

    Only a preview has stand-ins, and only those that it has given out.
    """
    if preview is not None:
        placed: Any = {key: preview.place(value) if key in _VALUES else value for key, value in message.items()}
        message = placed
    match message["op"]:
        case "call":
            message["args"] = [decode_argument(item) for item in message["args"]]
            message["kwargs"] = {key: decode_argument(item) for key, item in message["kwargs"].items()}
        case "value":
            message["value"] = decode(message["value"])
        case "large":
            message["head"] = decode(message["head"])
    return message


def _frames(message: Message) -> list[Frame]:
    frames = message["frames"]
    return [Frame(int(line), str(function), str(source), *map(str, file)) for line, function, source, *file in frames]


@dataclass(eq=False, slots=True)
class RunView:
    """A window on one run; empty before its code runs, and afterwards but for its outcome."""

    outcome: Outcome | None = None
    program: KernelSession | None = None  # as long as its kernel is there
    begun: bool = False
    shown: int = 0  # bytes of the output

    async def look(self, *, from_start: bool = False) -> Seen:
        """See what it is doing and what it has printed: since the last look, or since its start."""
        start = 0 if from_start else self.shown
        line = await self.program.find_line() if self.program is not None else None
        if self.program is None:  # it may have ended meanwhile
            return Seen(begun=self.begun, printed=Printed(), calls=(), line=None)
        seen, end = self.program.look(start, line)
        self.shown = max(self.shown, end)
        return seen


def hold_while_asking(ask: Ask, hold: Callable[[], AbstractContextManager[None]]) -> Ask:
    """Wrap a way to ask a person, so that a clock stands still while the person thinks."""

    async def ask_with_clock_held(question: str, choices: Sequence[Choice]) -> Word:
        with hold():
            return await ask(question, choices)

    return ask_with_clock_held
