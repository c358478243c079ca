"""A run in progress: answers what its kernel asks, and finds out how it ended."""

from __future__ import annotations

import asyncio
import errno
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import replace
from ot.clients.caller import Ask, Caller, Choice
from ot.effects import Effect
from ot.errors import (
    AliasCycleError,
    CallError,
    OneToolError,
    PreflightError,
    RunCrashedError,
    RunLimitError,
    RunRefusedError,
    RunTimeoutError,
    SandboxError,
    SkillPreflightError,
    ToolStoppedError,
    UntrustedPackError,
)
from ot.execution.resuming import UNJOURNALLED
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import builtin_kind, word_error
from ot.journal.journalled_value import JournalledValue
from ot.kernel import limits
from ot.kernel.kernel import DUMP, INTERRUPT, Kernel
from ot.kernel.messages import read_large, weigh
from ot.kernel.processors import part_from
from ot.results.kept_values import KEEP
from ot.results.stored_value import StoredValue, WrittenValue
from ot.run.backlog import Backlog
from ot.run.clock import RunClock
from ot.run.lookalikes import Lookalikes
from ot.run.made_calls import MadeCalls
from ot.run.namespace import Namespace
from ot.run.outcome import MAX_NAME, CodeError, Failure, Frame, LargeValue, Nothing, Outcome, Printed, Value
from ot.run.preflight import MAX_KEYWORDS, MAX_PROBLEMS, MAX_REFERENCES, Reference, judge, refuse_long_names
from ot.skills.skill_code import SkillCode
from ot.tasks.owned_tasks import Awaited, OwnedTasks, ReusableScope
from ot.values import ToolValue
from ot_kernel.project_path import ProjectPath
from ot_kernel.stored_form import TEXT, VALUE
from ot_kernel.values import UnsupportedValueError, decode, encode
from ot_kernel.wire import Message, WireError, pack, pack_text

if TYPE_CHECKING:
    from ot_kernel.message_types import WrittenFacts, WrittenReference

MAX_CALLS = 16
GRACE = 0.5  # seconds for interrupted code to unwind before it is killed
ATTEMPTS = 5
DUMP_WAIT = 0.5
LINE_WAIT = 0.25
STATUS_WAIT = 2.0


# Values of calls that were not made: answered from the journal, or code whose own calls count.
_NOT_MADE = (JournalledValue, SkillCode)

# Errors of code that takes text for a value.
_OF_OTHER_KINDS = ("AttributeError", "TypeError")

# What reading a message that somebody made up can raise.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _Call:
    """One call that the code makes, and the way of its value to the code."""

    __slots__ = ("_kernel", "keywords", "number", "payload", "positional", "send", "tool", "weight")

    def __init__(self, kernel: Kernel, message: Message, payload: bytes, weight: int) -> None:
        """`payload` is the message as it came; `weight` counts the bytes that it takes until it is answered."""
        self._kernel = kernel
        self.send = kernel.send_payload
        self.number: int = message["id"]
        self.tool = str(message["tool"])
        self.positional: list[ToolValue] = message["args"]
        self.keywords: dict[str, ToolValue] = message["kwargs"]
        self.payload = payload
        self.weight = weight
        if type(self.number) is not int or type(self.positional) is not list or type(self.keywords) is not dict:
            raise TypeError("a call has a number, a list and an object of arguments")

    def pack(self, value: object) -> bytes:
        """Make the answer of a value."""
        if type(value) is str:
            return pack_text(self.number, value)
        if type(value) is StoredValue:  # it goes as the file it is; nothing of it is decoded here
            name = self._kernel.reserve_file()
            kind = value.copy_to(partial(self._kernel.scratch.create, name))
            return pack({"id": self.number, "file": name, "kind": kind})
        if type(value) is JournalledValue:
            return b'{"id":%d,"value":%b}' % (self.number, value.encoded)
        if type(value) is SkillCode:
            return pack({"id": self.number, "skill": {"name": value.name, "file": value.file, "source": value.source}})
        return pack({"id": self.number, "value": encode(value)})


class _Unread(NamedTuple):
    """A message that takes long to read, and how many bytes of it are here."""

    size: int
    read: Callable[[], tuple[Message, bytes]]


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
        self._executor = executor
        self._namespace = namespace
        self._limit = limit
        self._memory = memory
        self._clock = RunClock(limit)
        ask = None if caller.ask is None else self._asking(caller.ask)
        self._caller = replace(caller, remaining=self._clock.remaining, ask=ask, hold=self._clock.held)
        self._calls = 0  # that are being made
        self._waiting: deque[_Call] = deque()  # for one of those to end
        self._backlog = Backlog(kernel)
        self._readers = readers  # threads that read large messages, of all runs: each takes turns with everybody else
        self._reading = asyncio.Lock()
        self._made = made
        self._begun = 0  # calls
        self._effects: dict[str, Effect] = {}  # of the tools that were called
        self._in_flight: dict[int, tuple[str, float]] = {}  # by the identity of the call: numbers are the kernel's word
        self._end_awaited: Awaited[None] | None = None
        self._ending: Callable[[], Outcome | None] | None = None  # gives None where the kernel was lost
        self._timed_out = False
        self._tasks = OwnedTasks()
        self._lookalikes: Lookalikes | None = None  # once a tool gave text

    def _asking(self, ask: Ask) -> Ask:
        """Wrap the caller's way to ask a person: a run loses no time while the person thinks."""

        async def ask_with_clock_held(question: str, choices: Sequence[Choice]) -> Choice | None:
            with self._clock.held():
                return await ask(question, choices)

        return ask_with_clock_held

    async def complete(self, request: bytes, meanwhile: Callable[[], None]) -> Outcome:
        """Start the program and stay with it to its end; `meanwhile` is done while the kernel reads it."""
        self._kernel.on_message = self._on_message
        self._kernel.on_large = self._on_large
        self._kernel.on_lost = self._on_lost
        try:
            self._kernel.send_payload(request)
            meanwhile()
            self._clock.start(self._go_on)
            await self._until_end()
            if self._ending is None:
                self._timed_out = True
                await self._interrupt()
            if self._ending is None:
                return self._fail(RunTimeoutError(self._limit, self._kernel.dumped_line()))
            try:
                outcome = self._ending()
            except _NONSENSE as error:
                return self._fail(RunRefusedError(f"the kernel's answer could not be read: {error}"))
            return await self._post_mortem() if outcome is None else outcome
        finally:
            self._clock.stop()
            await self._tasks.end()
            self._ending = None  # it holds on to this; what is in no circle goes without a search for garbage

    # -- what it is doing

    def calls_in_flight(self) -> list[tuple[str, float]]:
        """List the calls that are being made, the oldest first: the tool, and for how many seconds."""
        now = time.monotonic()
        return [(tool, now - began) for tool, began in self._in_flight.values()]

    def printed_since(self, start: int) -> tuple[Printed, int]:
        """Return what the code has printed since an offset, and the offset of what comes next."""
        text, dropped, end = self._kernel.printed_since(start)
        return Printed(text, dropped), end

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
            self._go_on()

    async def _until_end(self) -> None:
        """Wait for the end, or until the time is up."""
        if self._ending is None:
            self._end_awaited = Awaited(asyncio.get_running_loop())
            await self._end_awaited

    def _go_on(self) -> None:
        if self._end_awaited is not None and not self._end_awaited.done():
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
        with anyio.move_on_after(STATUS_WAIT):
            await self._kernel.ended.wait()
        line = self._kernel.dumped_line()
        if self._timed_out:
            return self._fail(RunTimeoutError(self._limit, line))
        if self._kernel.overrun is not None:
            limit = {"scratch": limits.SCRATCH, "threads": limits.THREADS}.get(self._kernel.overrun, self._memory)
            return self._fail(RunLimitError(self._kernel.overrun, limit, line))
        return self._fail(RunCrashedError(self._kernel.status, line))

    def _nothing(self, _: Message) -> Nothing:
        return Nothing(Printed(*self._kernel.printed()))

    def _code_failed(self, message: Message) -> Failure:
        return self._fail(self._explained(_code_error(message)))

    def _aliases_in_a_circle(self, message: Message) -> Failure:
        return self._fail(AliasCycleError([str(name) for name in message["names"]]))

    def _unconfined(self, message: Message) -> Failure:
        return self._fail(SandboxError([str(layer) for layer in message["failed"]]))

    def _interrupted(self, message: Message) -> Failure:
        return self._fail(RunTimeoutError(self._limit, _last_line(message)))

    def _value(self, message: Message) -> Value:
        value, total = message["head" if message["op"] == "large" else "value"], message.get("total")
        printed = Printed(*self._kernel.printed())
        if total is None:
            notes = self._caller.notes if self._caller.client else None  # at a command line a program may read on
            if notes is not None and self._lookalikes is not None and (note := self._lookalikes.explain(value)):
                notes.add(note)
            return Value(value, printed)
        large = LargeValue(str(message["name"]), str(message["kind"])) if message["op"] == "large" else None
        return Value(value, printed, int(total), large, not_kept=str(message.get("not_kept", ""))[:200])

    def _explained(self, error: CodeError) -> CodeError:
        """Add what a tool gave that is no such value as code took it for."""
        suspected = self._lookalikes if error.type in _OF_OTHER_KINDS else None
        note = "" if suspected is None else suspected.suspect()
        return replace(error, notes=(*error.notes, note)) if note else error

    def _fail(self, error: CodeError | OneToolError) -> Failure:
        return Failure(error, Printed(*self._kernel.printed()))

    # -- messages

    def _on_message(self, message: Message) -> None:
        payload = self._kernel.received
        try:
            if message["op"] == "file":
                self._begin_reading(0, partial(self._kernel.read_spilled, message))
                return
            if b"$" in payload or b"\\u0024" in payload:  # elsewhere no key is the mark of a tag: values are themselves
                message = _decoded(message)
            if message["op"] == "call":
                self._on_call(message, payload, len(payload))
            else:
                self._handle(message)
        except _NONSENSE as error:
            self._refuse_nonsense(error)

    def _on_large(self, payload: bytes) -> None:
        self._begin_reading(len(payload), lambda: (read_large(payload), payload))

    def _begin_reading(self, size: int, read: Callable[[], tuple[Message, bytes]]) -> None:
        self._backlog.add_unread(size)
        if not self._tasks.start(self._read_aside, _Unread(size, read)):
            self._backlog.remove_unread(size)

    async def _read_aside(self, unread: _Unread) -> None:
        """Read a large message on a thread, one at a time, when there is room for it."""

        def read() -> tuple[Message, bytes, int]:
            message, payload = unread.read()
            return _decoded(message), payload, weigh(payload)

        try:
            async with self._reading:
                await self._backlog.room()
                found = await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._readers)
            message, payload, weight = found
            if message["op"] == "call":
                self._on_call(message, payload, weight)
            else:
                self._handle(message)
        except RunRefusedError as error:
            self._refuse(error.reason)
        except (*_NONSENSE, WireError) as error:
            self._refuse_nonsense(error)
        finally:
            self._backlog.remove_unread(unread.size)

    def _handle(self, message: Message) -> None:
        if message["op"] in self._ENDINGS:
            self._end(partial(self._ENDINGS[message["op"]], self, message))
        else:
            self._QUESTIONS[message["op"]](self, message)

    def _on_lost(self, _: str) -> None:
        self._end(lambda: None)

    def _refuse(self, reason: str) -> None:
        self._end(lambda: self._fail(RunRefusedError(reason)))

    def _refuse_nonsense(self, error: Exception) -> None:
        self._refuse(f"the kernel sent an invalid message: {error}")

    def _on_references(self, message: Message) -> None:
        try:
            self._judge(message)
        except PreflightError as error:
            self._end(partial(self._fail, error))
        else:
            self._kernel.send({"op": "go"})

    def _on_judge(self, message: Message) -> None:
        """Look at the calls of a skill: they go wrong where it is called, and not for the run as a whole."""
        skill, file = str(message["name"])[:MAX_NAME], str(message["file"])[:MAX_NAME]
        try:
            self._judge(message)
        except PreflightError as error:
            self._send_error(message["id"], SkillPreflightError(skill, file, error.problems))
        else:
            self._kernel.send({"id": message["id"], "value": None})

    def _judge(self, message: Message) -> None:
        """Look at calls that are certain to be made; raises PreflightError."""
        if len(message["references"]) > MAX_REFERENCES:
            raise ValueError(f"more than {MAX_REFERENCES:,} calls are written out")
        if any(len(reference["keywords"]) > MAX_KEYWORDS for reference in message["references"]):
            raise ValueError(f"a call has more than {MAX_KEYWORDS:,} arguments")
        references = list(map(_read_reference, message["references"]))
        try:
            judge(references, self._namespace.registry, partial(self._executor.foresee_refusal, caller=self._caller))
        except PreflightError as error:
            for _, problem in error.problems:
                self._executor.redact(problem)  # signatures come from servers
            named = (f"{each.pack}.{each.tool}" for each in references[:MAX_PROBLEMS])
            self._executor.note_refused(named, self._caller)
            raise

    def _on_attribute(self, message: Message) -> None:
        pack, name = message["pack"], message["name"]
        self._answer(message["id"], [pack, name], lambda: self._find_attribute(pack, name))

    def _find_attribute(self, pack: str, name: str) -> ProjectPath | None:
        try:
            return self._namespace.attribute(pack, name)
        except UntrustedPackError:
            self._executor.note_refused([f"{pack}.{name}"], self._caller)
            raise

    def _on_describe(self, message: Message) -> None:
        name, principal = message["name"], self._caller.principal
        describe = partial(self._namespace.describe, name, principal)
        self._answer(message["id"], [name], lambda: self._executor.redactor.value(describe()))

    def _on_attributes(self, message: Message) -> None:
        """Change a file in the scratch folder, and answer with the number of what went wrong."""
        mode, times, number = message.get("mode"), message.get("times"), 0
        try:
            path = [str(part) for part in message["path"]]
            self._kernel.scratch.change(
                path,
                mode=None if mode is None else int(mode),
                times=None if times is None else (int(times[0]), int(times[1])),
            )
        except OSError as error:
            number = error.errno or errno.EIO
        except (ValueError, OverflowError):
            number = errno.EINVAL
        self._kernel.send({"id": message["id"], "value": number})

    def _answer(self, number: int, names: list[str], question: Callable[[], object]) -> None:
        try:
            refuse_long_names(names)
            self._kernel.send({"id": number, "value": encode(question())})
        except CallError as error:
            self._send_error(number, error)

    def _on_call(self, message: Message, payload: bytes, weight: int) -> None:
        call = _Call(self._kernel, message, payload, weight)
        if "written" in message:
            call.keywords["value"] = self._written_value(call.tool, message["written"])
        if len(payload) > MAX_NAME:
            try:
                refuse_long_names([call.tool, *call.keywords])
            except CallError as error:
                self._send_error(call.number, error)
                return
        self._backlog.add(weight)
        if self._calls == MAX_CALLS:
            self._waiting.append(call)
        else:
            self._begin(call)

    def _begin(self, call: _Call) -> None:
        self._calls += 1
        if self._ending is not None or not self._tasks.start_scoped(self._call, call):
            self._calls -= 1
            self._backlog.remove(call.weight)
            self._send_error(call.number, ToolStoppedError(call.tool))

    def _written_value(self, tool: str, written: WrittenFacts) -> WrittenValue:
        """Stand for a large value that the kernel has written to a file; only `ot.keep` takes one."""
        if tool != KEEP:
            raise ValueError(f"{tool} takes no files")
        opened = partial(self._kernel.open_file, written["file"])
        return WrittenValue(opened, TEXT if written["kind"] == TEXT else VALUE, str(written["what"]))

    async def _call(self, call: _Call, scope: ReusableScope) -> None:
        try:
            if not self._kernel.has_room:
                await self._kernel.room()
            self._in_flight[id(call)] = call.tool, time.monotonic()
            self._begun += 1
            if self._caller.progress is not None:  # the listener decides how often it wants to hear
                await self._caller.progress(self._begun, None, call.tool)
            value = await self._executor.call(
                call.tool,
                call.keywords,
                positional=call.positional,
                caller=self._caller,
                delivery=call,
                sent=call.payload,
                scope=scope,
            )
            if self._begun == 1 and not self._kernel.has_ended():  # it is likely to make others
                part_from(self._kernel.pid)
            if type(value) is str:
                self._lookalikes = self._lookalikes or Lookalikes()
                self._lookalikes.add(call.tool, value)
            if type(value) not in _NOT_MADE and call.tool not in UNJOURNALLED:
                effect = self._effects.get(call.tool) or self._find_effect(call.tool)
                self._made.add(call.tool, effect, call.positional, call.keywords, call.weight)
        except CallError as error:
            self._send_error(call.number, error)
        except UnsupportedValueError as error:
            reason = f"the result of {call.tool} cannot be passed to code: {error}"
            self._kernel.send({"id": call.number, "error": {"kind": "TypeError", "message": reason}})
        finally:
            self._in_flight.pop(id(call), None)
            self._backlog.remove(call.weight)
            self._calls -= 1
            if self._waiting:
                self._begin(self._waiting.popleft())

    def _find_effect(self, tool: str) -> Effect:
        try:
            effect = self._effects[tool] = self._namespace.registry.get(tool).effect
        except CallError:  # it has gone since
            return Effect.UNKNOWN
        return effect

    def _send_error(self, number: int, error: CallError) -> None:
        self._kernel.send({"id": number, "error": {"kind": builtin_kind(error), "message": word_error(error)}})

    # -- what a kernel says besides calls, by name

    _QUESTIONS: ClassVar[Mapping[str, Callable[[KernelSession, Message], None]]] = {
        "attribute": _on_attribute,
        "describe": _on_describe,
        "references": _on_references,
        "judge": _on_judge,
        "attributes": _on_attributes,
    }
    _ENDINGS: ClassVar[Mapping[str, Callable[[KernelSession, Message], Outcome]]] = {
        "value": _value,
        "large": _value,
        "nothing": _nothing,
        "error": _code_failed,
        "alias_cycle": _aliases_in_a_circle,
        "unconfined": _unconfined,
        "interrupted": _interrupted,
    }


def _decoded(message: Message) -> Message:
    """Decode the values in a message; this takes time by their size, so a large one is decoded on a thread."""
    match message["op"]:
        case "call":
            message["args"] = [decode(item) for item in message["args"]]
            message["kwargs"] = {key: decode(item) for key, item in message["kwargs"].items()}
        case "value":
            message["value"] = decode(message["value"])
        case "large":
            message["head"] = decode(message["head"])
    return message


def _read_reference(written: WrittenReference) -> Reference:
    fields: dict[str, Any] = {**written, "keywords": tuple(written["keywords"])}
    return Reference(**fields)


def _code_error(message: Message) -> CodeError:
    return CodeError(
        type=str(message["type"]),
        message=str(message["message"]),
        frames=tuple(_frames(message)),
        names=tuple(str(name) for name in message["names"]),
        notes=tuple(str(note) for note in message["notes"]),
    )


def _frames(message: Message) -> list[Frame]:
    frames = message["frames"]
    return [
        Frame(int(line), str(function), str(source), *map(str, file[:1])) for line, function, source, *file in frames
    ]


def _last_line(message: Message) -> int | None:
    return next((frame.line for frame in reversed(_frames(message)) if not frame.file), None)
