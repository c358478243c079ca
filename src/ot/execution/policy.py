"""Policy: what the configuration denies, what a person must agree to, and what may not flow to another tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

import ot.execution
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import EVERYTHING, LOST, VALUES, Caller, Choice, Said, previews
from ot.clients.shown import is_view
from ot.config.call_rules import CallRule
from ot.config.models import BY_VALUE, FlowSettings
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
from ot.execution.consent import NO, NOBODY_THERE, Consent
from ot.execution.invocation import call_error_from
from ot.execution.rules import Guard, first_rule
from ot.execution.subject import Subject
from ot.limits import PersonLimits
from ot.store.quotas import CallCounts
from ot.text.redaction import Redactor
from ot.values import Arguments

if TYPE_CHECKING:
    from ot.execution.value_flows import ValueFlows
    from ot.flows.seen_values import Carried

_CARRIES = "carries what"
_MARKED_HERE = 256 * 1024  # bytes of a file that is read while others wait
MAX_DEPTH = 32  # calls that tools make inside calls
ALWAYS_ASKS = "the tool always asks"
OWN_QUESTION = "the tool asks by itself; policy.allow can answer for it"


@dataclass(eq=False, slots=True)
class DenyStep(Step):
    """Refuses a tool that nobody, or no such caller, may call here, one that we cannot call, and an endless call."""

    _tool: PreparedTool

    def begin(self, call: Call) -> None:
        refuse_denied(self._tool.guard)
        if call.caller.looks and not self._tool.reads and not previews(call.caller):
            raise NotOnlyReadingError(call.name)
        lacks = self._tool.definition.lacks
        if lacks and not (self._tool.definition.for_views and is_view(call.caller.shown)):
            raise UnsupportedToolError(call.name, lacks)
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
    _digest: Callable[[Arguments], str] | None = None  # compares calls of code in a run

    async def begin(self, call: Call) -> None:
        if call.continued is not None:  # nothing is sent: it passed when it was made
            call.caller.memory.note(call.continued.read)
            if call.tool.guard.guarded:
                call.caller.memory.note(call.tool.guard.names, by_value=call.tool.guard.brings)
            return
        if call.tool.guard.by_value:
            call.carried = await self._policy.find_carried(call.bound, call.caller)
        call.allowed_by = await self._policy.admit_call(call, self._digest)

    def end(self, call: Call) -> None:
        """Remember what a listed call gave that had waited for the question about the list."""
        plan = call.caller.run_memory.plan if call.planned is not None and call.caller.run_memory is not None else None
        if plan is not None and call.planned is not None:
            plan.note(call.planned.number, call.value)
            if not call.tool.reads:
                plan.mark_again(most=_MARKED_HERE)


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
    if previews(caller):
        return None  # it is only listed
    if caller.looks and not reads:
        return NotOnlyReadingError(name)
    if guard.asked_by is None or caller.ask is not None or any(tool == name for tool, _ in caller.memory.agreed):
        return None
    return ConsentError(name, NOBODY_THERE, f"policy.ask names {guard.asked_by}")


def _find_cause(flow: FlowSettings, guard: Guard, caller: Caller, carried: Sequence[Carried]) -> tuple[str, str]:
    """Return the tool whose results a rule keeps from a call, and the argument that carries them, if that counts."""
    memory = caller.memory
    known = sorted(name for name in memory.read if name[0] not in (VALUES, LOST))
    read = next((name for name in known if name == EVERYTHING or first_rule((name,), flow.origins)), "")
    if flow.by != BY_VALUE or not read:
        return read, ""
    if (first := next(_from(flow, guard, caller, carried), None)) is not None:
        return first.found.source.names[0], first.argument
    lost = (name[1:] for name in memory.read if name[0] == LOST)
    by_call = read == EVERYTHING or flow.label in memory.stopped
    if by_call or any(name == EVERYTHING or first_rule((name,), flow.origins) for name in lost):
        return read, ""
    return "", ""


def _from(flow: FlowSettings, guard: Guard, caller: Caller, carried: Sequence[Carried]) -> Iterator[Carried]:
    """Yield what a call carries that comes from the tools of a rule, and to which nobody has agreed."""
    agreed = caller.memory.agreed if caller.run_memory is None else caller.memory.agreed | caller.run_memory.agreed
    for each in carried:
        names = each.found.source.names
        if (EVERYTHING in names or first_rule(names, flow.origins)) and (guard.names[0], each.found.key) not in agreed:
            yield each


def _acting(guard: Guard, caller: Caller, carried: Sequence[Carried]) -> list[Carried]:
    """Return, once each, what of a call a person is asked about by value."""
    flows = [flow for flow, _ in guard.flows if flow.by == BY_VALUE]
    found = [each for flow in flows for each in _from(flow, guard, caller, carried)]
    return list({(each.argument, each.found.text): each for each in found}.values())


def _keys(carried: Sequence[Carried]) -> frozenset[str]:
    return frozenset(each.found.key for each in carried)


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
        self._redactor = redactor
        self._consent = Consent(redactor, folder, project=project)
        self._quotas = quotas
        self.by_value: ValueFlows | None = None  # where a rule says so

    def word_call(self, name: str, arguments: Arguments, room: int) -> list[str]:
        """Word a call with its arguments as a person would be shown them, without secrets; the first line is its name.

        Blocking, as far as a stored value is among them.
        """
        return ot.execution.QuestionText(self._redactor).word_call(Subject(name, "", arguments), room)

    async def find_carried(self, arguments: Arguments, caller: Caller) -> Sequence[Carried]:
        """Return what the arguments of a call carry that guarded calls brought."""
        return () if self.by_value is None else await self.by_value.find(arguments, caller)

    async def admit(self, guard: Guard, arguments: Arguments, caller: Caller) -> str:
        """Let something begin whose arguments are known to be good, and return what has allowed it.

        A file that the arguments name must not change while a person is asked, unless the call only reads. Raises
        ToolDeniedError, FlowDeniedError or ConsentError.
        """
        allowed_by = ""
        subject = await self.examine(guard, arguments, caller)
        if subject is not None:
            allowed_by = await self._obtain(guard, subject._replace(files=None), caller)
        if guard.guarded:
            caller.memory.note(guard.names, by_value=guard.brings)
        return allowed_by

    async def admit_call(self, call: Call, digest: Callable[[Arguments], str] | None) -> str:
        """Do the same for a call; one that a person has agreed to on a list passes once, as long as nothing differs."""
        guard, caller, allowed_by = call.tool.guard, call.caller, ""
        subject = await self.examine(guard, call.bound, caller, call.carried or ())
        if subject is not None:
            given = await self._recall(call, subject)
            if given is False:
                raise ConsentError(subject.tool, NO, subject.reason)
            files = () if call.tool.effect is Effect.READS else None
            asked = subject._replace(files=files, call=call, digest=digest)
            allowed_by = await self._obtain(guard, asked, caller, listed=bool(given))
        if guard.guarded:
            caller.memory.note(guard.names, by_value=guard.brings)
        return allowed_by

    async def _obtain(self, guard: Guard, subject: Subject, caller: Caller, *, listed: bool = False) -> str:
        given = "consent: list" if listed else await self._consent.obtain(subject, caller)
        caller.memory.stopped -= {flow.label for flow, _ in guard.flows}
        return f"{given} ({subject.reason})"

    async def _recall(self, call: Call, subject: Subject) -> bool | None:
        """Return what a person said to this call when they were shown the list; None if they have to be asked."""
        plan = call.caller.run_memory.plan if call.planned is not None and call.caller.run_memory is not None else None
        if plan is None or call.planned is None:
            return None
        number = call.planned.number
        said = plan.said(number, subject.reasons)
        return None if said and not await anyio.to_thread.run_sync(plan.is_unchanged, number) else said

    async def examine(
        self, guard: Guard, arguments: Arguments, caller: Caller, carried: Sequence[Carried] | None = None
    ) -> Subject | None:
        """Return what a person must be asked about a call; None if it may pass. Raises what `judge` raises."""
        if carried is None:
            carried = await self.find_carried(arguments, caller) if guard.by_value else ()
        acting = _acting(guard, caller, carried)
        reasons = await self.judge(guard, arguments, caller, carried)
        if not reasons:
            return None
        subject = Subject(guard.names[0], "; ".join(reasons), arguments, reasons=tuple(reasons))
        if acting and self.by_value is not None:
            details = await self.by_value.explain(acting, caller)
            others = "; ".join(reason for reason in reasons if _CARRIES not in reason)
            subject = subject._replace(details=tuple(details), values=_keys(acting), others=others)
        return subject

    async def judge(
        self, guard: Guard, arguments: Arguments, caller: Caller, carried: Sequence[Carried] | None = None
    ) -> list[str]:
        """Return the reasons for which a person must be asked; raises ToolDeniedError or FlowDeniedError.

        `carried` is what `find_carried` finds. A rule by value that stops the call acts as `by: call` from then on,
        until a person agrees: trying finds no spelling that passes.
        """
        if carried is None:
            carried = await self.find_carried(arguments, caller) if guard.by_value else ()
        denied = await self._first_acting(guard.denied_if, arguments, caller)
        if denied is not None:
            raise ToolDeniedError(guard.names[0], denied)
        asked_by = guard.asked_by or await self._first_acting(guard.asked_if, arguments, caller)
        reasons = [] if asked_by is None else [f"policy.ask names {asked_by}"]
        for flow, rule in guard.flows:
            read, argument = _find_cause(flow, guard, caller, carried)
            if not read or (rule is not None and not await self._acts(rule, arguments, caller)):
                continue
            if flow.by == BY_VALUE:
                caller.memory.stopped.add(flow.label)
            if flow.action == "deny":
                raise FlowDeniedError(guard.names[0], read, argument)
            words = f"{argument} {_CARRIES} {read} brought" if argument else f"{read} was called before"
            reasons.append(f"{words}, and policy.flows guards its results")
        return reasons

    async def _first_acting(self, rules: Sequence[CallRule], arguments: Arguments, caller: Caller) -> str | None:
        """Return the words of the first rule that acts on a call; each of them counts it."""
        acting = [words for rule in rules if (words := await self._acts(rule, arguments, caller))]
        return acting[0] if acting else None

    async def _acts(self, rule: CallRule, arguments: Arguments, caller: Caller) -> str:
        """Return the words of a rule that acts on a call, and nothing for one that does not."""
        key = str(rule)
        if not fits(rule, arguments):
            return ""
        if rule.more_than is None:
            return key
        counted, before = (caller.run_memory or caller.memory).counted, 0
        if rule.per == "hour" and self._quotas is not None:
            only_listed = previews(caller)
            try:
                before = await self._quotas.count_call(caller.principal, key, 0 if only_listed else 1)
            except OSError:
                return f"{key}; the calls cannot be counted now"
            if not only_listed:
                return key if before > rule.more_than else ""
        counted[key] = counted.get(key, 0) + 1
        return key if before + counted[key] > rule.more_than else ""

    async def ask(self, asked: OwnQuestion, guard: Guard, caller: Caller) -> Said:
        """Ask for a tool that does so by itself, unless `policy.allow` may answer and has; raises ConsentError."""
        shown, question, files, places, room, always = asked
        if guard.allowed_by is not None and not always:
            return Said(Choice.ONCE)
        reason = ALWAYS_ASKS if always else OWN_QUESTION
        return await self._consent.decide(Subject(guard.names[0], reason, shown, question, files, places, room), caller)
