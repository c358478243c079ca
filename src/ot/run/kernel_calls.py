"""The calls that a kernel asks for: each is made in a task of its own, and its value goes back to the code."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from ot.clients.caller import Caller
from ot.effects import Effect
from ot.errors import CallError, RunEndingError, ToolStoppedError
from ot.execution.resuming import UNJOURNALLED
from ot.execution.tool_executor import ToolExecutor
from ot.journal.reuse import JournalledValue
from ot.kernel.kernel import Kernel
from ot.results.kept_values import KEEP
from ot.results.lines import StoredValue, WrittenValue
from ot.run.kernel_questions import send_error
from ot.run.made_calls import Lookalikes, MadeCalls
from ot.run.outcome import MAX_NAME
from ot.run.preflight import refuse_long_names
from ot.skills.skill_file import SkillCode
from ot.tasks.owned_tasks import OwnedTasks, ReusableScope
from ot.values import ToolValue, Unmade
from ot_kernel.stored_form import TEXT, VALUE
from ot_kernel.values import UnsupportedValueError, encode
from ot_kernel.wire import Message, pack, pack_text
from ot_system import send_elsewhere

if TYPE_CHECKING:
    from ot_kernel.message_types import WrittenFacts

MAX_CALLS = 16
MAX_WAITING = 64  # calls, in progress or not begun yet
MAX_STANDING = 32 * 1024 * 1024  # bytes in them

# Values of calls that were not made: answered from the journal, listed by a preview, or code whose own calls count.
_NOT_MADE = (JournalledValue, SkillCode, Unmade)


class Backlog:
    """Counts questions and their bytes. While there are too many the kernel is not read, and has to wait."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiting = 0
        self._unread = 0  # bytes of messages that take long to read, and wait for that
        self._standing = 0  # bytes of questions that were read
        self._full = False
        self._room = asyncio.Event()
        self._room.set()

    def count_unread(self, messages: int, size: int) -> None:
        """Count a message that is still to be read, or with -1 one that is read: its questions count by themselves."""
        self._unread += messages * size
        self._waiting += messages
        self._hold_or_go_on()

    def add(self, size: int) -> None:
        self._standing += size
        self._waiting += 1
        if self._full or self._waiting > MAX_WAITING or self._unread + self._standing > MAX_STANDING:
            self._hold_or_go_on()

    def remove(self, size: int) -> None:
        self._standing -= size
        self._waiting -= 1
        if self._full:
            self._hold_or_go_on()

    def _hold_or_go_on(self) -> None:
        self._full = full = self._waiting > MAX_WAITING or self._unread + self._standing > MAX_STANDING
        self._kernel.hold(held=full)
        if self._standing > MAX_STANDING:
            self._room.clear()
        else:
            self._room.set()

    async def room(self) -> None:
        """Wait until enough of what was read is answered, so that more may be read."""
        if not self._room.is_set():
            await self._room.wait()


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
        if type(value) is str:
            return pack_text(self.number, value)
        if type(value) is StoredValue:  # it goes as the file it is; nothing of it is decoded here
            name = self._kernel.reserve_file()
            kind = value.copy_to(partial(self._kernel.scratch.create, name))
            return pack({"id": self.number, "file": name, "kind": kind})
        if type(value) is JournalledValue:
            return b'{"id":%d,"value":%b}' % (self.number, value.encoded)
        if type(value) is Unmade:
            return pack({"id": self.number, "stand_in": value.number})
        if type(value) is SkillCode:
            return pack({"id": self.number, "skill": {"name": value.name, "file": value.file, "source": value.source}})
        return pack({"id": self.number, "value": encode(value)})


class KernelCalls:
    """Makes the calls of one run, some at once, the others in their turn. Its `tasks` are ended by their owner."""

    def __init__(
        self, kernel: Kernel, executor: ToolExecutor, caller: Caller, tasks: OwnedTasks, made: MadeCalls
    ) -> None:
        self.backlog = Backlog(kernel)
        self.closed = False  # no further call begins
        self.stopped_by: RunEndingError | None = None  # that the code does not get
        self.lookalikes: Lookalikes | None = None  # once a tool gave text
        self._kernel = kernel
        self._executor = executor
        self._caller = caller
        self._tasks = tasks
        self._made = made
        self._running = 0
        self._waiting: deque[_Call] = deque()  # for one of those to end
        self._begun = 0
        self._effects: dict[str, Effect] = {}  # of the tools that were called
        self._in_flight: dict[int, tuple[str, float]] = {}  # by the identity of the call: numbers are the kernel's word

    def in_flight(self) -> list[tuple[str, float]]:
        """List the calls that are being made, the oldest first: the tool, and for how many seconds."""
        now = time.monotonic()
        return [(tool, now - began) for tool, began in self._in_flight.values()]

    def take(self, message: Message, payload: bytes, weight: int) -> None:
        """Make the call that a message asks for, in its turn."""
        call = _Call(self._kernel, message, payload, weight)
        if "written" in message:  # it stands for a large value that the kernel has written to a file
            if call.tool != KEEP:
                raise ValueError(f"{call.tool} takes no files")
            written: WrittenFacts = message["written"]
            opened = partial(self._kernel.open_file, written["file"])
            kind = TEXT if written["kind"] == TEXT else VALUE
            call.keywords["value"] = WrittenValue(opened, kind, str(written["what"]))
        if len(payload) > MAX_NAME:
            try:
                refuse_long_names([call.tool, *call.keywords])
            except CallError as error:
                send_error(self._kernel, call.number, error)
                return
        self.backlog.add(weight)
        if self._running == MAX_CALLS:
            self._waiting.append(call)
        else:
            self._begin(call)

    def _begin(self, call: _Call) -> None:
        if self.closed or not self._tasks.start_scoped(self._call, call):
            self.backlog.remove(call.weight)
            send_error(self._kernel, call.number, ToolStoppedError(call.tool))
        else:
            self._running += 1

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
                send_elsewhere(self._kernel.pid)
            if type(value) is str:
                self.lookalikes = self.lookalikes or Lookalikes()
                self.lookalikes.add(call.tool, value)
            if type(value) not in _NOT_MADE and call.tool not in UNJOURNALLED:
                effect = self._effects.get(call.tool) or self._find_effect(call.tool)
                self._made.add(call.tool, effect, call.positional, call.keywords, call.weight)
        except RunEndingError as error:
            self.stopped_by = error
            self._kernel.on_lost("")
        except CallError as error:
            send_error(self._kernel, call.number, error)
        except UnsupportedValueError as error:
            reason = f"the result of {call.tool} cannot be passed to code: {error}"
            self._kernel.send({"id": call.number, "error": {"kind": "TypeError", "message": reason}})
        finally:
            self._in_flight.pop(id(call), None)
            self.backlog.remove(call.weight)
            self._running -= 1
            if self._waiting:
                self._begin(self._waiting.popleft())

    def _find_effect(self, tool: str) -> Effect:
        try:
            effect = self._effects[tool] = self._executor.registry.get(tool).effect
        except CallError:  # it has gone since
            return Effect.UNKNOWN
        return effect
