"""ToolExecutor: the only door to a tool. Checks, limits, measures, logs, redacts, and words what went wrong."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import anyio

from ot.caller import NOBODY, Caller, Notes
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.context import CallContext, Part, reset_current, set_current
from ot.errors import (
    CallError,
    ConsentError,
    ResultNotKeptError,
    ToolDeniedError,
    ToolError,
    ToolFailedError,
    ToolStoppedError,
    ToolTimeoutError,
)
from ot.execution.failing import call_error_from
from ot.execution.prepared import Preparation, PreparedTool
from ot.execution.tool_answer import ToolAnswer
from ot.execution.wording import word_error
from ot.large_values import aside, is_large
from ot.log_text import brief
from ot.logs import LogSpan, write_log
from ot.output import render
from ot.redaction import Redactor
from ot.registry.registry import ToolRegistry
from ot.registry.tool_threads import ToolThreads
from ot.results.preview import word_stored
from ot.results.store import ResultStore
from ot.results.stored_value import StoredValue
from ot.stats.recorder import UNKNOWN_TOOL, Recorder
from ot_kernel.values import UnsupportedValueError

SLOW = 1.0  # seconds
MAX_DEPTH = 32  # calls that tools make inside calls


class Delivery(Protocol):
    """Where the value of a call goes. `pack` only makes something, on whatever thread; `send` has the effect."""

    def pack(self, value: Any, /) -> bytes: ...
    def send(self, packed: bytes, /) -> None: ...


class ToolExecutor:
    """Every call of every tool, from whichever side it comes, goes through `call`."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        config: Config,
        secrets: Secrets,
        project: Path,
        threads: ToolThreads | None = None,
        redactor: Redactor | None = None,
        recorder: Recorder | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.registry = registry
        self.settings = config
        self.project = project
        self.redactor = redactor or Redactor(secrets.known_values())
        self._secrets = secrets
        self._threads = threads
        self.recorder = recorder
        self._clock = clock
        self._preparation = Preparation(registry, config)
        self._parts: dict[type, object] = {}

    @property
    def running_late(self) -> int:
        """Plain calls that were cancelled and still run."""
        return self._threads.late if self._threads else 0

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        positional: Sequence[Any] = (),
        caller: Caller = NOBODY,
        delivery: Delivery | None = None,
        sent: bytes = b"",
    ) -> Any:
        """Call a tool and give its native value; raises CallError and nothing else, apart from cancellation.

        `delivery` gets the value before the call is logged, so that whoever needs it does not wait for the log; what it
        raises comes out of here. `sent`, the arguments as they came, is for the statistics.
        """
        value = await self._call(name, arguments, positional, caller, 0, delivery, sent)
        return await value.read() if delivery is None and type(value) is StoredValue else value

    async def execute(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool for an AI client: the text of its value, or a sentence about what went wrong."""
        return (await self.answer(name, arguments)).text

    async def answer(self, name: str, arguments: Mapping[str, Any], *, caller: Caller = NOBODY) -> ToolAnswer:
        """The same, with whether it went well, and with what is not text beside it."""
        notes = Notes()
        try:
            value = await self.call(name, arguments, caller=replace(caller, notes=notes))
        except CallError as error:
            return ToolAnswer(word_error(error), ok=False)
        limit = self.settings.results.inline_limit
        rendered = render(value, limit=limit)
        text = await self._word_long(value, rendered.text) if rendered.cut else rendered.text
        return ToolAnswer(notes.below(text), attachments=rendered.attachments)

    async def _word_long(self, value: Any, beginning: str) -> str:
        """The text for a value that is too long to show: where it is kept, or its beginning where it cannot be."""
        reason = ""
        results = self._parts.get(ResultStore)
        if isinstance(results, ResultStore):
            try:
                return word_stored(await results.keep_value(value), value)
            except (ResultNotKeptError, UnsupportedValueError) as error:
                reason = f"; the rest could not be kept: {error}"
        return f"{beginning}\n(cut after {self.settings.results.inline_limit} characters{reason})"

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        positional: Sequence[Any],
        caller: Caller,
        depth: int,
        delivery: Delivery | None = None,
        sent: bytes = b"",
    ) -> Any:
        try:
            tool = self._preparation.of(name)
        except CallError as error:
            write_log(logging.WARNING, "executor.unknown_tool", tool=name, error=type(error).__name__)
            if self.recorder is not None:
                self.recorder.call(UNKNOWN_TOOL, seconds=0, error=type(error).__name__, run=caller.run, sent=sent)
            raise
        name = tool.definition.name  # it may have been called by its server's own name for it
        delivered, failure = b"", ""
        with LogSpan(name, clock=self._clock, arguments=arguments) as span:
            if positional:
                span.add(positional=positional)
            try:
                value = await self._carry_out(tool, arguments, positional, caller, depth)
                if is_large(value):
                    value, delivered = await aside(self._make_ready, value, delivery)
                else:
                    value, delivered = self._make_ready(value, delivery)
                if delivery is not None:
                    delivery.send(delivered)
                span.add(result=value)
                return value
            except CallError as error:
                failure = error.kind if isinstance(error, ToolFailedError) else type(error).__name__
                self.redact(error)
                span.add(error=word_error(error))
                raise
            except BaseException as error:  # cancelled, or a value that cannot be delivered
                failure = type(error).__name__
                raise
            finally:
                seconds = span.elapsed()
                if self.recorder is not None:
                    self.recorder.call(
                        tool.definition.name,
                        seconds=seconds,
                        error=failure,
                        run=caller.run,
                        depth=depth,
                        sent=sent,
                        received=delivered,
                    )
                if seconds > SLOW:
                    span.add(slow=True)
                    span.escalate(logging.WARNING)

    def _make_ready(self, value: Any, delivery: Delivery | None) -> tuple[Any, bytes]:
        """A value without secrets, and packed for whoever wants it so."""
        if self.redactor.active:
            value = self.redactor.value(value)
        return value, delivery.pack(value) if delivery is not None else b""

    async def _carry_out(
        self, tool: PreparedTool, arguments: Mapping[str, Any], positional: Sequence[Any], caller: Caller, depth: int
    ) -> Any:
        name = tool.definition.name
        if tool.denied_by is not None:
            raise ToolDeniedError(name, tool.denied_by)
        if depth > MAX_DEPTH:
            raise call_error_from(RecursionError(f"calls inside calls, more than {MAX_DEPTH} deep"), name)
        if is_large(arguments) or is_large(positional):
            bound = await aside(tool.check.bind, positional, arguments)
        else:
            bound = tool.check.bind(positional, arguments)
        if tool.asked_by is not None:
            await self._ask_for(name, bound, caller)
        limit = _time_limit(tool, caller)
        with anyio.move_on_after(limit) as scope:
            context = CallContext(name, self, caller=caller, scope=scope, depth=depth)
            token = set_current(context)
            try:
                return await tool.function(bound)
            except asyncio.CancelledError as error:
                if not _being_cancelled():
                    raise call_error_from(error, name) from error
                raise
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:  # the edge: whatever a tool raises is told to its caller
                if scope.cancel_called:
                    late = isinstance(error, ToolStoppedError) and error.still_running
                    raise ToolTimeoutError(name, limit, still_running=late) from error
                failure = call_error_from(error, name)
                # A pack's own error keeps the cause that the pack named: code may catch it as that.
                raise failure from failure.__cause__ if isinstance(failure, ToolError) else error
            finally:
                reset_current(token)
        raise ToolTimeoutError(name, limit)

    async def _ask_for(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> None:
        if caller.ask is None:
            raise ConsentError(name, "nobody can be asked here")
        question = self.redactor.text(f"Allow {name} with {brief(arguments, self.redactor.text)}?")
        with _held(caller):
            agreed = await caller.ask(question)
        if not agreed:
            raise ConsentError(name, "the answer was no")

    def redact(self, error: CallError) -> None:
        """Texts of an error come from tools; they leave without secrets too."""
        if self.redactor.active:
            for field in ("message", "reason", "problems", "signature", "tail"):
                if hasattr(error, field):
                    setattr(error, field, self.redactor.value(getattr(error, field)))
            error.args = self.redactor.value(error.args)

    def options_of(self, tool: str) -> Mapping[str, Any]:
        """The pack's own configuration."""
        settings = self.settings.packs.get(tool.partition(".")[0])
        return settings.options if settings else {}

    def secret_for(self, tool: str, name: str) -> str:
        """A declared secret; from then on its value is known and redacted."""
        if name not in self.registry.get(tool).secrets:
            raise ToolError(f"the pack of {tool} does not declare the secret {name}")
        value = self._secrets.get(name)
        if not value:
            raise ToolError(f"the secret {name} is not set; put it into secrets.yaml or into the environment")
        self.redactor.learn(value)
        return value

    def apply(self, config: Config, secrets: Secrets) -> None:
        """Calls that begin from now on go by these."""
        self.settings = config
        self._secrets = secrets
        self._preparation = Preparation(self.registry, config)

    def lend(self, part: object) -> None:
        """Let built-in packs use a part of the engine: they find it by its type."""
        self._parts[type(part)] = part

    def part(self, kind: type[Part]) -> Part:
        """A part that was lent; raises ToolError where this engine has none."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            raise ToolError(f"there is no {kind.__name__} here")
        return found

    async def call_within(self, context: CallContext, name: str, arguments: Mapping[str, Any]) -> Any:
        """A call that a tool makes: through the same door, within what is left of its own time."""
        outer = context.caller
        caller = Caller(
            remaining=context.remaining,
            progress=outer.progress,
            ask=outer.ask,
            hold=context.held,
            front=outer.front,
            notes=outer.notes,
            run=outer.run,
        )
        value = await self._call(name, arguments, (), caller, context.depth + 1)
        return await value.read() if type(value) is StoredValue else value

    async def progress_within(self, context: CallContext, done: float, total: float | None, message: str) -> None:
        """Passed on to whoever waits, without secrets."""
        caller = context.caller
        if caller.progress is not None:
            await caller.progress(done, total, self.redactor.text(message))

    async def ask_within(self, context: CallContext, question: str) -> bool:
        """Passed on to the person, without secrets."""
        caller = context.caller
        if caller.ask is None:
            raise ConsentError(context.tool, "nobody can be asked here")
        with self.hold_within(context):
            return await caller.ask(self.redactor.text(question))

    @contextmanager
    def hold_within(self, context: CallContext) -> Iterator[None]:
        """The call's time stands still, and with it that of the calls around it and of the run."""
        with _held(context.caller):
            context.hold()
            try:
                yield
            finally:
                context.release()


def _held(caller: Caller) -> AbstractContextManager[None]:
    return nullcontext() if caller.hold is None else caller.hold()


def _time_limit(tool: PreparedTool, caller: Caller) -> float:
    limit = tool.limit
    if caller.timeout is not None:
        limit = min(limit, caller.timeout)
    if caller.remaining is not None:
        left = caller.remaining()
        if left <= 0:
            raise ToolStoppedError(tool.definition.name)
        limit = min(limit, left)
    return limit


def _being_cancelled() -> bool:
    """Whether somebody cancels this task, as against a tool that raised CancelledError by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
