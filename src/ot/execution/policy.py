"""Policy: what the configuration denies, what a person must agree to, and what may not flow to another tool."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import EVERYTHING, Caller
from ot.config.call_rules import CallRule
from ot.context import OwnQuestion
from ot.effects import Effect
from ot.errors import (
    CallError,
    ConsentError,
    FlowDeniedError,
    NotGrantedError,
    NotOnlyReadingError,
    ToolDeniedError,
    UnsupportedToolError,
)
from ot.execution.call import Call, PreparedTool, Step
from ot.execution.conditions import fits
from ot.execution.consent import NOBODY_THERE, Consent, Subject
from ot.execution.invocation import call_error_from
from ot.execution.rules import Guard, first_rule
from ot.limits import PersonLimits
from ot.store.quotas import CallCounts
from ot.text.redaction import Redactor
from ot.values import Arguments

MAX_DEPTH = 32  # calls that tools make inside calls
OWN_QUESTION = "the tool asks by itself; policy.allow can answer for it"


@dataclass(eq=False, slots=True)
class DenyStep(Step):
    """Refuses a tool that nobody, or no such caller, may call here, one that we cannot call, and an endless call."""

    _tool: PreparedTool

    def begin(self, call: Call) -> None:
        refuse_denied(self._tool.guard)
        if call.caller.looks and not self._tool.reads:
            raise NotOnlyReadingError(call.name)
        if self._tool.definition.lacks:
            raise UnsupportedToolError(call.name, self._tool.definition.lacks)
        if call.depth > MAX_DEPTH:
            raise call_error_from(RecursionError(f"calls inside calls, more than {MAX_DEPTH} deep"), call.name)


@dataclass(eq=False, slots=True)
class LimitStep(Step):
    """Counts the calls that a person may make in a minute."""

    _limits: PersonLimits

    def begin(self, call: Call) -> Awaitable[None]:
        return self._limits.call(call.name)


@dataclass(eq=False, slots=True)
class AskStep(Step):
    """Stops what may not flow to a tool, and asks a person where the configuration wants that."""

    _policy: Policy

    async def begin(self, call: Call) -> None:
        reads = call.tool.effect is Effect.READS
        call.allowed_by = await self._policy.admit(call.tool.guard, call.bound, call.caller, reads=reads)


def refuse_denied(guard: Guard) -> None:
    """Raise ToolDeniedError for what `policy.deny` names, and for what the person's groups are not granted."""
    if (refusal := _denial(guard)) is not None:
        raise refusal


def _denial(guard: Guard) -> ToolDeniedError | None:
    if guard.denied_by is not None:
        return ToolDeniedError(guard.names[0], guard.denied_by)
    return NotGrantedError(guard.names[0], "") if guard.withheld else None


def foresee_refusal(guard: Guard, caller: Caller, *, reads: bool = True) -> CallError | None:
    """Return the error that every call ends with: of what is denied, or asks where nobody can be asked.

    A tool that does not only read is refused to a caller who may do nothing else.
    """
    name = guard.names[0]
    if (denial := _denial(guard)) is not None:
        return denial
    if caller.looks and not reads:
        return NotOnlyReadingError(name)
    if guard.asked_by is None or caller.ask is not None or any(tool == name for tool, _ in caller.memory.agreed):
        return None
    return ConsentError(name, NOBODY_THERE, f"policy.ask names {guard.asked_by}")


class Policy:
    """Lets calls pass, or not; `folder` takes arguments that are too long for a question while it is open.

    `quotas` count calls over several runs; without them, such calls are counted in each run.
    """

    def __init__(
        self,
        redactor: Redactor,
        folder: Path | None = None,
        *,
        project: Path | None = None,
        quotas: CallCounts | None = None,
    ) -> None:
        self._consent = Consent(redactor, folder, project=project)
        self._quotas = quotas

    async def admit(self, guard: Guard, arguments: Arguments, caller: Caller, *, reads: bool = False) -> str:
        """Let a call begin whose arguments are known to be good, and return what has allowed it.

        A file that the arguments name must not change while a person is asked, unless the call only `reads`.
        Raises ToolDeniedError, FlowDeniedError or ConsentError.
        """
        allowed_by = ""
        if reasons := await self.judge(guard, arguments, caller):
            reason = "; ".join(reasons)
            subject = Subject(guard.names[0], reason, arguments, files=() if reads else None)
            given = await self._consent.obtain(subject, caller)
            allowed_by = f"{given} ({reason})"
        if guard.guarded:
            caller.memory.note(guard.names)
        return allowed_by

    async def judge(self, guard: Guard, arguments: Arguments, caller: Caller) -> list[str]:
        """Return the reasons for which a person must be asked; raises ToolDeniedError or FlowDeniedError."""
        denied = await self._first_acting(guard.denied_if, arguments, caller)
        if denied is not None:
            raise ToolDeniedError(guard.names[0], str(denied))
        asked_by = guard.asked_by or await self._first_acting(guard.asked_if, arguments, caller)
        reasons = [] if asked_by is None else [f"policy.ask names {asked_by}"]
        for flow, rule in guard.flows:
            known = sorted(caller.memory.read)
            read = next((name for name in known if name == EVERYTHING or first_rule((name,), flow.origins)), None)
            if read is None or (rule is not None and not await self._acts(rule, arguments, caller)):
                continue
            if flow.action == "deny":
                raise FlowDeniedError(guard.names[0], read)
            reasons.append(f"{read} was called before, and policy.flows guards its results")
        return reasons

    async def _first_acting(self, rules: Sequence[CallRule], arguments: Arguments, caller: Caller) -> CallRule | None:
        """Return the first rule that acts on a call; each of them counts it."""
        acting = [rule for rule in rules if await self._acts(rule, arguments, caller)]
        return acting[0] if acting else None

    async def _acts(self, rule: CallRule, arguments: Arguments, caller: Caller) -> bool:
        if not fits(rule, arguments):
            return False
        if rule.more_than is None:
            return True
        key = str(rule)
        if rule.per == "hour" and self._quotas is not None:
            try:
                return await self._quotas.count_call(caller.principal, key) > rule.more_than
            except OSError:
                return True  # nobody knows how many there were
        counted = (caller.run_memory or caller.memory).counted
        counted[key] = counted.get(key, 0) + 1
        return counted[key] > rule.more_than

    async def ask(self, asked: OwnQuestion, guard: Guard, caller: Caller) -> bool:
        """Ask for a tool that does so by itself, unless `policy.allow` has answered; raises ConsentError."""
        if guard.allowed_by is not None:
            return True
        subject = Subject(guard.names[0], OWN_QUESTION, *asked)
        return await self._consent.decide(subject, caller) is not None
