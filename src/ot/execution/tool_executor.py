"""ToolExecutor: the only door to a tool. It takes every call through the same steps, in this order.

find         `steps`        the tool, and the list of steps that its calls need; another where its run has a plan
trace        `records`      a span of the call, where spans are sent
deny         `policy`       tools that nobody may call here
arguments    `validation`   bound to names, and checked against the schema
resume       `resuming`     a call of a resumed or replayed run is answered from the journal, and nobody is asked
limits       `policy`       the calls that a person may make in a minute
flows, ask   `policy`       what the client has read, and a person, where the configuration wants that
effect       `auditing`     a call with side effects is written into the audit log, and so is a refusal
journal      `resuming`     written before a call that may have an effect
secrets      `invocation`   those that the pack declares are read from the keychain, where they are in it
call         `invocation`   the function in its context, within its time
redaction    `records`      secrets are removed from values and errors
shape        `records`      the types of what came back, where the tool leaves them open
record       `records`      one line of the log, one note for the statistics

Each step is an object with `begin`, `end` and `fail`, of which it has what it needs; `steps` builds the list of a tool.
`pack_door` is what a tool may use while it is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot import renamed
from ot.audit.log import AuditLog
from ot.clients.caller import NOBODY, Caller, ClientMemory, Notes
from ot.config.models import BY_VALUE, Config
from ot.config.secrets import Secrets
from ot.context import CallContext
from ot.errors import CallError, ResultNotKeptError, ToolFailedError
from ot.execution.auditing import all_arguments, audit_early_refusal, audit_refusal
from ot.execution.call import Call, Delivery
from ot.execution.pack_door import PackDoor
from ot.execution.policy import Policy, foresee_refusal
from ot.execution.records import record_unknown
from ot.execution.step_parts import StepParts
from ot.execution.steps import Preparation, Steps
from ot.execution.wording import word_error
from ot.journal.journal import Journal
from ot.limits import PersonLimits
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.results.store import ResultStore, word_stored
from ot.shapes.shapes import Shapes
from ot.stats.recorder import Recorder
from ot.store.quotas import Quotas
from ot.store.shelf import Shelf
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
        quotas: Quotas | None = None,
        telemetry: Telemetry | None = None,
        flow_memories: Shelf | None = None,
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
        self.nobody = ClientMemory()
        policy = Policy(self.redactor, questions, project=project, quotas=quotas)
        self._door = PackDoor(registry, config, secrets, project, self.redactor, policy, self.call, audit)
        self.word_call = policy.word_call
        self._parts = StepParts(
            self._door, policy, self.redactor, recorder, audit, shapes, journal, limits, telemetry, self._door.unlock
        )
        self._flow_memories = flow_memories
        self._follow_flows(config)
        self._preparation = Preparation(registry, config, self._parts)
        self.lend = self._door.lend

    async def call(  # noqa: PLR0913 - the one way in, for whoever calls
        self,
        name: str,
        arguments: Arguments,
        *,
        positional: Sequence[ToolValue] = (),
        caller: Caller = NOBODY,
        depth: int = 0,
        delivery: Delivery | None = None,
        sent: bytes = b"",
        scope: ReusableScope | None = None,
        instead: ToolFunction | None = None,
    ) -> ToolValue:
        """Call a tool and return its native value; raises CallError and nothing else, apart from cancellation.

        `depth` counts the calls around this one. Code in a run has a `delivery`, which gets the value before the call
        is logged, so that the code does not wait for the log; what it raises comes out of here. `sent`, the arguments
        as they came, is for the statistics. `scope` is one of the task that is not in use. `instead` carries the call
        out in place of the tool's own function: a client gets what a server says as it is, and not as a value for code.
        """
        if caller.memory is NOBODY.memory:
            caller = self.known(caller)
        try:
            ready = self._preparation.of(name)
        except CallError as error:
            record_unknown(name, error, caller, sent, self.recorder)
            given = all_arguments(arguments, positional)
            await audit_refusal(self.audit, name, given, caller, depth, error, sent=sent)
            raise
        if name != ready.tool.definition.name:
            _tell_of_new_name(name, caller)
        by_code = not depth and delivery is not None
        if caller.run_memory is not None and caller.run_memory.plan is not None:
            steps = self._preparation.in_plan(ready, caller.run_memory.plan, by_code=by_code)
        else:
            steps = ready.by_code if by_code else ready.by_others
        tool = ready.tool if instead is None else replace(ready.tool, function=instead)
        call = Call(
            tool.definition.name, tool, arguments, positional, caller, depth, sent, delivery, scope, self._clock()
        )
        try:
            for begin in steps.until_value:
                answer = begin(call)
                if answer is not None and await answer:
                    break
            if (answer := steps.with_value(call)) is not None:
                await answer
        except BaseException as error:
            await self._fail(call, steps, error)
            raise
        call.seconds = self._clock() - call.started
        for end in steps.ends:
            end(call)
        return call.value

    async def _fail(self, call: Call, steps: Steps, error: BaseException) -> None:
        """Let the steps know what was raised; those that take long are awaited once all have heard of it."""
        call.seconds = self._clock() - call.started
        call.failure = error.kind if isinstance(error, ToolFailedError) else type(error).__name__
        for waiting in [fail(call, error) for fail in steps.fails]:
            if waiting is not None:
                await waiting

    async def execute(self, name: str, arguments: Arguments) -> str:
        return (await self.answer(name, arguments)).text

    async def answer(self, name: str, arguments: Arguments, *, caller: Caller = NOBODY) -> ToolAnswer:
        """Call a tool for an AI client: the text of its value, or a sentence about what went wrong."""
        notes = Notes()
        try:
            value = await self.call(name, arguments, caller=replace(caller, notes=notes))
        except CallError as error:
            return ToolAnswer(word_error(error), ok=False)
        limit = self.settings.results.inline_limit
        rendered = render(value, limit=limit)
        text, reason = rendered.text, ""
        if rendered.cut and self._results is not None:
            try:
                stored = await self._results.keep_value(value, read_before=self.known(caller).memory.read)
                return ToolAnswer(notes.below(word_stored(stored, value)), attachments=rendered.attachments)
            except (ResultNotKeptError, UnsupportedValueError) as error:
                reason = f"; the rest could not be kept: {error}"
        if rendered.cut:
            text += f"\n(cut after {limit} characters{reason})"
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
        tool = self._preparation.of(name).tool
        return foresee_refusal(tool.guard, self.known(caller), reads=tool.reads)

    def apply(self, config: Config, secrets: Secrets) -> None:
        """Let calls that begin from now on go by these."""
        self.settings = config
        self._follow_flows(config)
        self._preparation = Preparation(self.registry, config, self._parts)
        self._door.apply(config, secrets)

    def _follow_flows(self, config: Config) -> None:
        """Let values be remembered, and compared, as long as a rule wants that."""
        policy, flows = self._parts.policy, self._parts.policy.by_value
        if not any(flow.by == BY_VALUE for flow in config.policy.flows):
            policy.by_value = None
            return
        if flows is None:
            from ot.execution.value_flows import ValueFlows  # noqa: PLC0415 - few configurations need it

            flows = policy.by_value = ValueFlows(self.journal, self._flow_memories)
        flows.apply(config.policy)

    async def hear(self, command: str, caller: Caller) -> None:
        """Note what a run's command says, where flows go by value."""
        if self._parts.policy.by_value is not None:
            await self._parts.policy.by_value.say(command, caller)

    def known(self, caller: Caller) -> Caller:
        """Return a caller with a memory of its own; those who do not say who they are count as one client."""
        return replace(caller, memory=self.nobody) if caller.memory is NOBODY.memory else caller


def _tell_of_new_name(name: str, caller: Caller) -> None:
    found = renamed.find_former(renamed.TOOLS, name)
    if found is not None and caller.notes is not None:
        caller.notes.add(found.words)
