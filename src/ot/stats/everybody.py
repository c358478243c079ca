"""Sums of what everybody at a team's server has used: by person and by pack, without tools, clients or contents."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.store.stat_rows import TeamSums


@dataclass(slots=True)
class OfPerson:
    """The usage of one person."""

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
        each.calls, each.failed, each.seconds = (
            each.calls + call.calls,
            each.failed + call.failed,
            each.seconds + call.seconds,
        )
        people[call.pack].add(call.person)
        each.people = len(people[call.pack])
    return sorted(found.values(), key=lambda each: (-each.calls, each.pack))
