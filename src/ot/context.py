"""The context of one call: its pack's configuration and secrets, other tools, progress, a person's consent.

The executor sets the one context variable of the system around each call; packs read it with `current()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import anyio

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import NOBODY, Caller, Milestone
from ot.effects import Effect
from ot.tasks.owned_tasks import ReusableScope
from ot.values import Arguments, ToolValue

if TYPE_CHECKING:
    from ot.clients.changes import Changes
    from ot.config.models import Config
    from ot.registry.registry import ToolRegistry
    from ot_confinement.confine import Confine

Part = TypeVar("Part")


class OwnQuestion(NamedTuple):
    """The question of a tool that asks by itself."""

    shown: Arguments
    question: str
    files: tuple[Path, ...]
    places: tuple[Path, ...]
    room: int
    always: bool = False


class TaskRecord(Protocol):
    """The place where a call notes that another server has made a task of it, for a run that goes on from this one."""

    @property
    def task(self) -> JsonObject | None: ...  # that an equal call of an earlier run has become
    async def note_task(self, task: JsonObject) -> None: ...
    def forget_task(self) -> None: ...


class CallServices(Protocol):
    """The engine behind a context: that of the executor, or its stand-in inside a helper process."""

    @property
    def settings(self) -> Config: ...
    @property
    def project(self) -> Path: ...
    @property
    def registry(self) -> ToolRegistry: ...

    def options_of(self, tool: str) -> Mapping[str, object]: ...
    def state_of(self, tool: str) -> Path: ...
    def output_of(self, tool: str, argument: str) -> Path: ...
    def secret_for(self, tool: str, name: str) -> str: ...
    def part(self, kind: type[Part]) -> Part: ...
    async def call_within(self, context: CallContext, name: str, arguments: Arguments) -> ToolValue: ...
    async def progress_within(self, context: CallContext, done: float, total: float | None, message: str) -> None: ...
    async def ask_within(self, context: CallContext, asked: OwnQuestion) -> bool: ...
    async def admit_within(self, context: CallContext, names: tuple[str, ...], arguments: Arguments) -> None: ...
    def hold_within(self, context: CallContext) -> AbstractContextManager[None]: ...


@dataclass(eq=False, slots=True)
class CallContext:
    """One call, seen from inside the tool."""

    tool: str
    _door: CallServices
    caller: Caller = NOBODY
    deadline: float = math.inf  # by the clock of the event loop
    depth: int = 0  # the number of calls around this one
    effect: Effect = Effect.UNKNOWN  # what the call does outside
    entry: int = 0  # the number of its line in the audit log; 0 if it has none
    changes: Changes | None = None  # where it notes what it changes, so that it can be undone; see `ot.files.changes`
    task_record: TaskRecord | None = None  # of a call that is in a journal itself
    startup: float = 0.0  # seconds for which it waited while a worker or a server was started
    reports: int = 0  # of its progress
    inside: set[tuple[str, ...]] | None = None  # names of guarded tools that were called for it
    _latest: tuple[float, float | None, str] = (0.0, None, "")  # of its reports
    _scope: ReusableScope | None = None  # ends the call at its deadline, once it waits for something
    _holds: int = 0
    _left: float = math.inf  # seconds, while held

    @property
    def config(self) -> Mapping[str, object]:
        """The pack's own keys under `packs.<pack>` of the configuration."""
        return self._door.options_of(self.tool)

    @property
    def settings(self) -> Config:
        return self._door.settings

    @property
    def project(self) -> Path:
        """The folder of the project that the server was started for."""
        return self._door.project

    @property
    def state(self) -> Path:
        """The folder for what the pack keeps: indexes, caches. An isolated tool has it if it declares `{state}`."""
        return self._door.state_of(self.tool)

    def output(self, argument: str) -> Path:
        """The place where an isolated tool makes the file that an argument names (`@isolated(outputs=...)`)."""
        return self._door.output_of(self.tool, argument)

    @property
    def registry(self) -> ToolRegistry:
        return self._door.registry

    def secret(self, name: str) -> str:
        """A secret that the pack declares in `secrets`; raises ToolError where it is not set or not declared."""
        return self._door.secret_for(self.tool, name)

    def part(self, kind: type[Part]) -> Part:
        """A part of the engine that it lends to built-in packs, by its type; raises ToolError where there is none."""
        return self._door.part(kind)

    async def call(self, name: str, /, **arguments: ToolValue) -> ToolValue:
        """Call another tool, `pack.tool`, within what is left of this call's time."""
        return await self._door.call_within(self, name, arguments)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report this call's progress to whoever waits for it, if anyone does."""
        self.reports += 1
        self._latest = done, total, message
        await self._door.progress_within(self, done, total, Milestone(message) if self.reports == 1 else message)

    async def end_progress(self) -> None:
        """Have the last report heard, which the listener may have left out."""
        done, total, message = self._latest
        await self._door.progress_within(self, done, total, Milestone(message))

    def note(self, line: str) -> None:
        """Add a line below the answer that this call is part of; nothing happens where there is none."""
        if self.caller.notes is not None:
            self.caller.notes.add(line)

    async def ask(
        self,
        question: str,
        shown: Arguments | None = None,
        *,
        files: Iterable[Path] = (),
        places: Iterable[Path] = (),
        room: int = 0,
        always: bool = False,
    ) -> bool:
        """Ask a person yes or no; raises ConsentError where that is not possible.

        The question is one line of the tool's own words. What others wrote, or what may be long, is `shown` below it by
        name, as the arguments of a call are. It is an error if one of `files` has another content once the person has
        agreed, or if one of `places` leads to another file. `room` is the number of characters that are shown at least.
        If it is asked `always`, no `policy.allow` answers for the person.
        """
        asked = OwnQuestion(shown or {}, question, tuple(files), tuple(places), room, always)
        return await self._door.ask_within(self, asked)

    async def admit(self, names: tuple[str, ...], arguments: Arguments) -> None:
        """Take what this call is about to get through the policy, under all of its names; raises CallError."""
        await self._door.admit_within(self, names, arguments)

    def end_by(self, scope: ReusableScope) -> None:
        """Have the call cancelled at its deadline: from now on it waits for something."""
        self._scope = scope
        scope.set_deadline(self.deadline)

    def remaining(self) -> float:
        """Seconds that are left of this call's time."""
        return self._left if self.deadline == math.inf else self.deadline - anyio.current_time()

    def held(self) -> AbstractContextManager[None]:
        """Stop the clocks of this call and of everyone who waits for it: something is being prepared."""
        return self._door.hold_within(self)

    def hold(self) -> None:
        """Stop this call's own clock, until it has been released as often."""
        if not self._holds:
            self._left = self.remaining()
            self._set_deadline(math.inf)
        self._holds += 1

    def release(self) -> None:
        """Let this call's own clock run on."""
        self._holds -= 1
        if not self._holds and self._left != math.inf:
            self._set_deadline(anyio.current_time() + self._left)

    def _set_deadline(self, deadline: float) -> None:
        self.deadline = deadline
        if self._scope is not None:
            self._scope.set_deadline(deadline)


_CURRENT: ContextVar[CallContext] = ContextVar("ot_call")

set_current = _CURRENT.set
reset_current = _CURRENT.reset


current: Callable[[], CallContext] = _CURRENT.get
"""Return the context of the call that is being made; raises LookupError outside of one."""

current_or_none: Callable[[], CallContext | None] = partial(_CURRENT.get, None)
"""Return the context of the call that is being made, if there is one."""


def bounded(confine: Confine) -> Confine:
    """Return the bounds of a process that a pack starts: off if the person says so (`packs.NAME.confine`)."""
    context = current_or_none()
    if context is None:
        return confine
    pack = context.tool.partition(".")[0]
    settings = context.settings.packs.get(pack)
    if settings is not None and not settings.confine:
        return confine._replace(off=True)
    way_out = f". To use it unconfined, set `packs.{pack}.confine: off` in your own configuration"
    return confine._replace(otherwise=way_out)
