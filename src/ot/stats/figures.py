"""The figures of statistics as values: read by `summary`, shown by `ot.stats`, the report and the command.

Those of everybody at a team's server are by person and by pack, without tools, clients or contents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from typing import NamedTuple

from mcp_core.quick_dataclass import dataclass
from ot.store.parts import TeamSums


class ToolFigures(NamedTuple):
    """All calls of one tool; times in milliseconds, sizes in bytes as they crossed to the code that called."""

    tool: str
    calls: int
    errors: int
    mean_ms: float
    p95_ms: float
    slowest_ms: float
    sent_bytes: int
    received_bytes: int


class ClientFigures(NamedTuple):
    """All runs of one client; the empty name is the command line."""

    client: str
    runs: int
    failed: int
    calls: int


class ModelFigures(NamedTuple):
    """All requests to one model, with tokens as its provider counted them; `cost` is None where a price is missing."""

    provider: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None  # US dollars
    mean_ms: float


class Moment(NamedTuple):
    """Calls in one stretch of time that begins at `start`, seconds since 1970."""

    start: float
    calls: int
    errors: int


class Savings(NamedTuple):
    """Estimated tokens: what the same tools, connected directly, would have put into contexts, and what we put."""

    direct_definitions: int = 0
    direct_calls: int = 0
    direct_results: int = 0
    sent_definition: int = 0
    sent_commands: int = 0
    sent_answers: int = 0

    @property
    def direct(self) -> int:
        """The whole price of the direct way."""
        return self.direct_definitions + self.direct_calls + self.direct_results

    @property
    def sent(self) -> int:
        """All tokens that OneTool itself costs."""
        return self.sent_definition + self.sent_commands + self.sent_answers

    @property
    def saved(self) -> int:
        """Negative where OneTool cost more."""
        return self.direct - self.sent


class Offered(NamedTuple):
    """The tools there are now: how many, and the estimated tokens of their definitions and of OneTool's own."""

    tools: int = 0
    tokens: int = 0
    own: int = 0


class TimeSaved(NamedTuple):
    """Turns of the model that runs made unnecessary, what a turn takes as measured, and what runs took themselves."""

    turns_avoided: int = 0
    turn_ms: int = 0
    pauses_measured: int = 0
    own_ms: int = 0

    @property
    def known(self) -> bool:
        """True if enough pauses were measured to tell."""
        return self.turn_ms > 0

    @property
    def saved_ms(self) -> int:
        """Negative where runs took longer than the turns that they saved; 0 where it is not known."""
        return self.turns_avoided * self.turn_ms - self.own_ms if self.known else 0


class Summary(NamedTuple):
    period: str
    tool: str
    since: float | None  # of the first thing recorded in the period
    runs: int
    failed_runs: int
    dearer_runs: int  # cost more tokens than the same calls made directly
    tools: tuple[ToolFigures, ...]
    clients: tuple[ClientFigures, ...]
    models: tuple[ModelFigures, ...]
    errors: tuple[tuple[str, int], ...]  # kinds of failed calls, most frequent first
    moments: tuple[Moment, ...]
    bucket_seconds: int
    savings: Savings
    offered: Offered
    time: TimeSaved

    @property
    def total_calls(self) -> int:
        return sum(tool.calls for tool in self.tools)

    @property
    def total_errors(self) -> int:
        return sum(tool.errors for tool in self.tools)

    @property
    def success_rate(self) -> float | None:
        """Percent of the calls; None where there was none."""
        return round(100 * (1 - self.total_errors / self.total_calls), 1) if self.total_calls else None


@dataclass(slots=True)
class OfPerson:
    person: str
    runs: int = 0
    failed_runs: int = 0
    calls: int = 0
    failed_calls: int = 0
    packs: Counter[str] = field(default_factory=Counter)  # calls by pack


@dataclass(slots=True)
class OfPack:
    """The usage of one pack, and by how many people."""

    pack: str
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    people: int = 0


def by_person(sums: TeamSums) -> list[OfPerson]:
    """Add up what each person has used, the busiest first."""
    found: dict[str, OfPerson] = {}
    for run in sums.runs:
        each = found.setdefault(run.person, OfPerson(run.person))
        each.runs, each.failed_runs = each.runs + run.runs, each.failed_runs + run.failed
    for call in sums.calls:
        each = found.setdefault(call.person, OfPerson(call.person))
        each.calls, each.failed_calls = each.calls + call.calls, each.failed_calls + call.failed
        each.packs[call.pack] += call.calls
    used = (each for each in found.values() if each.runs or each.calls)
    return sorted(used, key=lambda each: (-each.runs, -each.calls, each.person))


def by_pack(sums: TeamSums) -> list[OfPack]:
    """Add up what each pack was used for, the most called first."""
    found: dict[str, OfPack] = {}
    people: dict[str, set[str]] = defaultdict(set)
    for call in sums.calls:
        each = found.setdefault(call.pack, OfPack(call.pack))
        each.calls, each.failed = each.calls + call.calls, each.failed + call.failed
        each.seconds += call.seconds
        people[call.pack].add(call.person)
        each.people = len(people[call.pack])
    return sorted(found.values(), key=lambda each: (-each.calls, each.pack))
