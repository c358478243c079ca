"""ToolExecutor: the only door to a tool. It takes every call through the same steps, in this order.

find         `prepared`     the tool, and what the configuration says of it
deny         `policy`       tools that nobody may call here
arguments    `validation`   bound to names, and checked against the schema
limits       `ot.limits`    the calls that a person may make in a minute
flows, ask   `policy`       what the client has read, and a person, where the configuration wants that
journal      `journalling`  written before a call that may have an effect; a resumed run is answered from it, unasked
call         `invocation`   the function in its context, within its time
redaction    `outgoing`     values and errors leave without secrets
shape        `ot.shapes`    the types of what came back, where the tool leaves them open
record       `records`      one line of the log, one note for the statistics; calls with effect in the audit log

Each step is a part of its own; `pack_door` is what a tool may use while it is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.audit.log import AuditLog
from ot.clients.caller import NOBODY, Caller, Notes
from ot.clients.memory import ClientMemory
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.context import CallContext
from ot.errors import CallError, OneToolError, ResultNotKeptError, UntrustedSnippetError
from ot.execution.call import Call, Delivery
from ot.execution.invocation import invoke, refuse_endless, refuse_unsupported
from ot.execution.journalling import CallJournal, open_call
from ot.execution.outgoing import Outgoing
from ot.execution.pack_door import PackDoor
from ot.execution.policy import Policy, foresee_refusal, refuse_denied
from ot.execution.prepared import Preparation
from ot.execution.records import CallRecord, all_arguments, audit_early_refusal, audit_refusal, record_unknown
from ot.execution.wording import word_error
from ot.journal.journal import Journal
from ot.journal.run_journal import INLINE
from ot.limits import PersonLimits
from ot.registry.registry import ToolRegistry
from ot.results.preview import word_stored
from ot.results.store import ResultStore
from ot.shapes.shapes import Shapes
from ot.stats.recorder import Recorder
from ot.tasks.large_values import LARGE_MESSAGE, MOST, aside_if_large, is_large
from ot.tasks.owned_tasks import ReusableScope
from ot.text.output import Attached, render
from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue
from ot_kernel.values import UnsupportedValueError

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer that an AI client gets: the text of a tool's value, or a sentence about what went wrong."""

    text: str
    ok: bool = True
    attachments: tuple[Attached, ...] = ()


class ToolExecutor:
    """Every call of every tool, from whichever side it comes, goes through `call`."""

    def __init__(  # noqa: PLR0913 - the parts of all steps, most of which a test does without
        self,
        registry: ToolRegistry,
        *,
        config: Config,
        secrets: Secrets,
        project: Path,
        redactor: Redactor | None = None,
        recorder: Recorder | None = None,
        results: ResultStore | None = None,
        questions: Path | None = None,
        audit: AuditLog | None = None,
        shapes: Shapes | None = None,
        journal: Journal | None = None,
        limits: PersonLimits | None = None,
        telemetry: Telemetry | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.registry = registry
        self.settings = config
        self.project = project
        self.redactor = redactor or Redactor(secrets.known_values())
        self.recorder = recorder
        self.audit = audit
        self.shapes = shapes
        self.journal = journal
        self.limits = limits
        self.telemetry = telemetry
        self._results = results
        self._clock = clock
        self._nobody = ClientMemory()
        self._preparation = Preparation(registry, config)
        self._policy = Policy(self.redactor, questions)
        self._outgoing = Outgoing(self.redactor)
        self._door = PackDoor(
            registry,
            config=config,
            secrets=secrets,
            project=project,
            redactor=self.redactor,
            policy=self._policy,
            call=self._call_inside,
            audit=audit,
        )
        self.lend = self._door.lend

    def call(
        self,
        name: str,
        arguments: Arguments,
        *,
        positional: Sequence[ToolValue] = (),
        caller: Caller = NOBODY,
        delivery: Delivery | None = None,
        sent: bytes = b"",
        scope: ReusableScope | None = None,
    ) -> Coroutine[object, object, ToolValue]:
        """Call a tool and return its native value; raises CallError and nothing else, apart from cancellation.

        `delivery` gets the value before the call is logged, so that whoever needs it does not wait for the log; what it
        raises comes out of here. `sent`, the arguments as they came, is for the statistics. `scope` is one of the task
        that is not in use.
        """
        return self._call(name, arguments, positional, caller, 0, sent, delivery, scope)

    async def execute(self, name: str, arguments: Arguments) -> str:
        """Call a tool for an AI client: the text of its value, or a sentence about what went wrong."""
        return (await self.answer(name, arguments)).text

    async def answer(self, name: str, arguments: Arguments, *, caller: Caller = NOBODY) -> ToolAnswer:
        """Do the same, and say whether it went well; what is not text is returned beside it."""
        notes = Notes()
        try:
            value = await self.call(name, arguments, caller=replace(caller, notes=notes))
        except CallError as error:
            return ToolAnswer(word_error(error), ok=False)
        rendered = render(value, limit=self.settings.results.inline_limit)
        text = await self._word_long(value, rendered.text, caller) if rendered.cut else rendered.text
        return ToolAnswer(notes.below(text), attachments=rendered.attachments)

    def context_for(self, name: str, caller: Caller = NOBODY) -> CallContext:
        """Return the context that a call would have, for what is prepared before there is one."""
        return CallContext(name, self._door, caller=caller)

    def note_refused(self, names: Iterable[str], caller: Caller) -> None:
        """Note which of these tools are refused to code before it can call them: untrusted ones, or by the policy."""
        for name in dict.fromkeys(names):
            refusal = self.registry.absence(name) or self.foresee_refusal(name, caller)
            if refusal is not None:
                audit_early_refusal(self.audit, name, self.known(caller), refusal)

    def foresee_refusal(self, name: str, caller: Caller) -> CallError | None:
        """Return the error with which the policy would refuse every call of a tool."""
        if not self.registry.has(name):
            return None
        return foresee_refusal(self._preparation.of(name).guard, self.known(caller))

    def note_refused_snippet(self, error: UntrustedSnippetError, caller: Caller) -> None:
        """Note that a command named a snippet that nobody has trusted."""
        audit_early_refusal(self.audit, f"${error.name}", self.known(caller), error)

    def redact(self, error: OneToolError) -> None:
        """Take the secrets out of an error that leaves beside a call."""
        self._outgoing.redact(error)

    def apply(self, config: Config, secrets: Secrets) -> None:
        """Let calls that begin from now on go by these."""
        self.settings = config
        self._preparation = Preparation(self.registry, config)
        self._door.apply(config, secrets)

    def known(self, caller: Caller) -> Caller:
        """Return a caller with a memory of its own; those who do not say who they are count as one client."""
        return replace(caller, memory=self._nobody) if caller.memory is NOBODY.memory else caller

    # -- the way of a call

    def _call_inside(
        self, name: str, arguments: Arguments, caller: Caller, depth: int
    ) -> Coroutine[object, object, ToolValue]:
        return self._call(name, arguments, (), caller, depth, b"", None)

    async def _call(
        self,
        name: str,
        arguments: Arguments,
        positional: Sequence[ToolValue],
        caller: Caller,
        depth: int,
        sent: bytes,
        delivery: Delivery | None,
        scope: ReusableScope | None = None,
    ) -> ToolValue:
        if caller.memory is NOBODY.memory:
            caller = self.known(caller)
        try:
            tool = self._preparation.of(name)
        except CallError as error:
            record_unknown(name, error, caller, sent, self.recorder)
            given = all_arguments(arguments, positional)
            await audit_refusal(self.audit, name, given, caller, depth, error, sent=sent)
            raise
        call = Call(tool.definition.name, tool, arguments, positional, caller, depth, sent, scope)
        return await self._pass(call, delivery)

    async def _pass(self, call: Call, delivery: Delivery | None) -> ToolValue:
        journal = None if delivery is None else open_call(self.journal, call, self.redactor)
        with CallRecord(call, self.recorder, self._clock, audit=self.audit, telemetry=self.telemetry) as record:
            try:
                value = await self._carry_out(call, record, journal)
                if is_large(value):
                    value, packed = await aside_if_large(value, self._outgoing.make_ready, value, delivery)
                else:
                    value, packed = self._outgoing.make_ready(value, delivery)
                if journal is not None and len(packed) > INLINE:
                    await journal.keep(packed)
            except BaseException as error:
                if isinstance(error, CallError):
                    self._outgoing.redact(error)
                if journal is not None:
                    journal.fail(error)
                raise
            if delivery is not None:
                delivery.send(packed)
            if journal is not None:
                journal.succeed(value, packed)
            reused = journal is not None and journal.reused
            if self.shapes is not None and not reused and (source := call.tool.definition.learns) is not None:
                self.shapes.note(source, call.caller.principal, value)
            record.end(value, packed)
            return value

    async def _carry_out(self, call: Call, record: CallRecord, journal: CallJournal | None) -> ToolValue:
        try:
            if call.tool.refused or call.depth:
                _refuse(call)
            if 0 < len(call.sent) <= MOST:  # bytes, and so no more items
                bound = call.tool.check.bind(call.positional, call.arguments)
            else:
                bound = await self._bind_aside(call)
            if journal is not None and journal.resumes and (reused := await journal.reuse(bound)) is not None:
                return reused
            if self.limits is not None:
                await self.limits.call(call.name)
            allowed_by = "" if call.tool.simple else await self._policy.admit(call.tool.guard, bound, call.caller)
        except CallError as error:
            await record.refuse(error)
            raise
        if call.tool.audited:
            await record.begin(bound, allowed_by)
        if journal is not None:
            if len(call.sent) > LARGE_MESSAGE:
                await journal.word(bound)
            if journal.begin(bound):
                await journal.settle()
        return await invoke(call, bound, self._door, record)

    async def _bind_aside(self, call: Call) -> dict[str, ToolValue]:
        """Return the arguments of a call by name; many of them are looked through on a thread."""
        given = (call.positional, call.arguments) if call.positional else call.arguments
        return await aside_if_large(given, call.tool.check.bind, call.positional, call.arguments)

    async def _word_long(self, value: ToolValue, beginning: str, caller: Caller) -> str:
        """Say where a value that is too long to show is kept, or show its beginning if it could not be kept."""
        reason = ""
        if self._results is not None:
            try:
                return word_stored(
                    await self._results.keep_value(value, read_before=self.known(caller).memory.read), value
                )
            except (ResultNotKeptError, UnsupportedValueError) as error:
                reason = f"; the rest could not be kept: {error}"
        return f"{beginning}\n(cut after {self.settings.results.inline_limit} characters{reason})"


def _refuse(call: Call) -> None:
    """Raise CallError for a call that nobody may make."""
    if call.tool.refused:
        refuse_denied(call.tool.guard)
        refuse_unsupported(call)
    refuse_endless(call)
