"""A rehearsal: what other rules would have done to the calls of the journal. Nothing is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import NamedTuple

from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import NOBODY, ClientMemory
from ot.config.models import PolicySettings
from ot.errors import FlowDeniedError, NotGrantedError, ToolDeniedError
from ot.execution.policy import Policy, refuse_denied
from ot.execution.rules import Guard, build_guard
from ot.journal.recorded import RecordedCall, RecordedRun
from ot.store.quotas import HOUR
from ot.text.redaction import Redactor
from ot.values import Arguments

DENIED, ASKED = "denied", "asked"


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
    """The calls that were looked at, how many of them each set of rules denies or asks about, and what differs."""

    calls: int = 0
    runs: int = 0
    since: float = 0.0  # when the first of the runs began
    before: Counter[str] = field(default_factory=Counter)  # by action
    after: Counter[str] = field(default_factory=Counter)
    changes: Counter[Row] = field(default_factory=Counter)


class _Hours:
    """Counts the calls of each hour of a past that is gone through in its order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._counts: Counter[tuple[int, str, str]] = Counter()

    async def count_call(self, principal: str, rule: str) -> int:
        key = (int(self.now // HOUR), principal, rule)
        self._counts[key] += 1
        return self._counts[key]


class _Judge:
    """One set of rules, and what each client has read by them."""

    def __init__(self, settings: PolicySettings, names_of: Callable[[str], tuple[str, ...]]) -> None:
        self._settings = settings
        self._names_of = names_of
        self._hours = _Hours()
        self._policy = Policy(Redactor(), quotas=self._hours)
        self._guards: dict[str, Guard] = {}
        self._memories: dict[str, ClientMemory] = {}

    async def judge(self, run: RecordedRun, call: RecordedCall, arguments: Arguments, memory: ClientMemory) -> Verdict:
        guard = self._guards.get(call.tool)
        if guard is None:
            guard = self._guards[call.tool] = build_guard(self._names_of(call.tool), self._settings)
        self._hours.now = call.time
        client = self._memories.setdefault(run.client, ClientMemory())
        caller = replace(NOBODY, memory=client, run_memory=memory, principal=run.principal)
        try:
            refuse_denied(guard)
            reasons = await self._policy.judge(guard, arguments, caller)
        except NotGrantedError:
            return Verdict(DENIED, "grants")
        except ToolDeniedError as error:
            return Verdict(DENIED, f"policy.deny names {error.rule}")
        except FlowDeniedError as error:
            return Verdict(DENIED, f"policy.flows, after {error.read}")
        if guard.guarded:
            client.note(guard.names)
        return Verdict(ASKED, "; ".join(reasons)) if reasons else Verdict()


async def rehearse(
    runs: Iterable[RecordedRun],
    before: PolicySettings,
    after: PolicySettings,
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
