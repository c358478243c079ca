"""A rehearsal: what other rules would have done to the calls of the journal. Nothing is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import NOBODY, Caller, ClientMemory
from ot.config.models import BY_VALUE, PolicySettings
from ot.config.team import LimitSettings
from ot.errors import FlowDeniedError, NotGrantedError, ToolDeniedError
from ot.execution.policy import Policy, refuse_denied
from ot.execution.rules import Guard, build_guard
from ot.execution.value_flows import ValueFlows
from ot.flows.seen_values import Carried
from ot.journal.recorded import RecordedCall, RecordedRun
from ot.limits import attends_runs
from ot.store.quotas import CALLS, HOUR, RUNNING, RUNS
from ot.text.redaction import Redactor
from ot.values import Arguments
from ot_kernel.values import decode

DENIED, ASKED, LIMITED = "denied", "asked", "limited"
_MINUTE = 60.0


class Rules(NamedTuple):
    """The rules that decide on calls: the policy, and the limits of a person."""

    policy: PolicySettings
    limits: LimitSettings


class Verdict(NamedTuple):
    """The fate of a call, and the rule that decided it; both are empty for one that simply passes."""

    action: str = ""
    rule: str = ""


class Row(NamedTuple):
    """Calls of one tool by one client that another set of rules treats in another way."""

    before: Verdict
    after: Verdict
    tool: str
    client: str


@dataclass(slots=True)
class Rehearsed:
    """The calls that were looked at, how many of them each set of rules stops or asks about, and what differs."""

    calls: int = 0
    runs: int = 0
    unreadable: int = 0  # runs of which the journal has not everything
    since: float = 0.0  # when the first of the runs began
    before: Counter[str] = field(default_factory=Counter)  # by action
    after: Counter[str] = field(default_factory=Counter)
    changes: Counter[Row] = field(default_factory=Counter)


class _Hours:
    """Counts the calls of each hour of a past that is gone through in its order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._counts: Counter[tuple[int, str, str]] = Counter()

    async def count_call(self, principal: str, rule: str, calls: int = 1) -> int:
        key = (int(self.now // HOUR), principal, rule)
        self._counts[key] += calls
        return self._counts[key]


class _Limits:
    """Counts runs and calls in the minutes of a past that is gone through in its order."""

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._runs: Counter[int] = Counter()
        self._calls: Counter[int] = Counter()
        self._ends: list[float] = []  # of the runs that may still go on
        self._refused = ""  # the limit by which the run that is looked at would not have begun

    def begin(self, run: RecordedRun) -> None:
        minute, running = int(run.time // _MINUTE), not attends_runs(run.command)
        self._ends = [end for end in self._ends if end > run.time]
        self._refused = self._find_reached(RUNS, self._runs[minute])
        if running and not self._refused:
            self._refused = self._find_reached(RUNNING, len(self._ends))
        if not self._refused:
            self._runs[minute] += 1
            if running:
                self._ends.append(run.time + run.seconds)

    def count(self, call: RecordedCall) -> str:
        """Count a call; return the limit that stops it, if one does."""
        minute = int(call.time // _MINUTE)
        reached = self._refused or self._find_reached(CALLS, self._calls[minute])
        if not reached:
            self._calls[minute] += 1
        return reached

    def _find_reached(self, key: str, count: int) -> str:
        most = getattr(self._settings, key)
        return f"limits.{key} is {most:,}" if most is not None and count >= most else ""


class _Judge:
    """One set of rules, and what each client has read by them."""

    def __init__(self, rules: Rules, names_of: Callable[[str], tuple[str, ...]]) -> None:
        settings = rules.policy
        self._limits = _Limits(rules.limits)
        self._settings = settings
        self._names_of = names_of
        self._hours = _Hours()
        self._policy = Policy(Redactor(), quotas=self._hours)
        self._guards: dict[str, Guard] = {}
        self._memories: dict[str, ClientMemory] = {}
        if any(flow.by == BY_VALUE for flow in settings.flows):
            self._policy.by_value = ValueFlows()
            self._policy.by_value.apply(settings)

    async def hear(self, run: RecordedRun, memory: ClientMemory) -> None:
        """Note that a run begins, and what its command says."""
        self._limits.begin(run)
        if self._policy.by_value is not None:
            await self._policy.by_value.say(run.command, self._caller(run, memory))

    def _caller(self, run: RecordedRun, memory: ClientMemory) -> Caller:
        client = self._memories.setdefault(run.client, ClientMemory())
        return replace(NOBODY, memory=client, run_memory=memory, principal=run.principal)

    async def judge(self, run: RecordedRun, call: RecordedCall, arguments: Arguments, memory: ClientMemory) -> Verdict:
        guard = self._guards.get(call.tool)
        if guard is None:
            guard = self._guards[call.tool] = build_guard(self._names_of(call.tool), self._settings)
        self._hours.now = call.time
        caller = self._caller(run, memory)
        try:
            refuse_denied(guard)
            if limit := self._limits.count(call):
                return Verdict(LIMITED, limit)
            carried = await self._policy.find_carried(arguments, caller)
            reasons = await self._policy.judge(guard, arguments, caller, carried)
        except NotGrantedError:
            return Verdict(DENIED, "grants")
        except ToolDeniedError as error:
            return Verdict(DENIED, f"policy.deny names {error.rule}")
        except FlowDeniedError as error:
            return Verdict(DENIED, f"policy.flows, after {error.read}")
        caller.memory.stopped.clear()  # the person is taken to have agreed
        if guard.guarded:
            caller.memory.note(guard.names, by_value=guard.brings)
        await self._note_value(call, guard, carried, caller)
        return Verdict(ASKED, "; ".join(reasons)) if reasons else Verdict()

    async def _note_value(self, call: RecordedCall, guard: Guard, carried: Sequence[Carried], caller: Caller) -> None:
        flows = self._policy.by_value
        if flows is None:
            return
        try:
            value = decode(call.value)
        except ValueError:
            value = None
        if guard.brings and (call.value_at is not None or not call.has_value):
            caller.memory.lose(guard.names)
        await flows.note_value(value, [guard.names] if guard.brings else [], carried, caller)


async def rehearse(
    runs: Iterable[RecordedRun],
    before: Rules,
    after: Rules,
    *,
    names_of: Callable[[str], tuple[str, ...]],
    arguments_of: Callable[[RecordedCall], Arguments],
) -> Rehearsed:
    """Judge the calls of these runs, the oldest first, by both sets of rules; `names_of` gives all names of a tool.

    A client is taken to be all runs of its name. Calls that tools have made inside calls are not in the journal.
    """
    found, judges = Rehearsed(), (_Judge(before, names_of), _Judge(after, names_of))
    for run in runs:
        found.runs += 1
        found.since = found.since or run.time
        memories = (ClientMemory(), ClientMemory())
        for judge, memory in zip(judges, memories, strict=True):
            await judge.hear(run, memory)
        for call in run.calls:
            if call.reused:
                continue
            found.calls += 1
            arguments = arguments_of(call)
            then, now = [
                await judge.judge(run, call, arguments, memory) for judge, memory in zip(judges, memories, strict=True)
            ]
            found.before[then.action] += 1
            found.after[now.action] += 1
            if then != now:
                found.changes[Row(then, now, call.tool, run.client)] += 1
    return found
