"""The state of all replicas of a team, as any of them shows it: who is there, what goes on, their last day."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from mcp_core.distribution import VERSION
from mcp_core.json_types import Json, JsonObject
from onetool.replicas.vitals import MINUTE, Sample, Vitals
from ot.store.replicas import SeenReplica
from ot.telemetry.meters import SECONDS

if TYPE_CHECKING:
    from ot.store.postgres.replicas import PostgresReplicas

POINTS = 60  # of a graph
HOUR, DAY = 60, 24 * 60  # minutes


class GoingRun(NamedTuple):
    """A run in progress somewhere in the team."""

    run: str
    principal: str
    began: float
    state: str
    alone: bool  # it goes on without its client, and can be stopped
    replica: str


class Point(NamedTuple):
    """The sum of what all replicas did in a span of time."""

    at: float  # its end, in seconds since the epoch
    runs: int
    errors: int
    refused: int
    p50: float  # seconds; 0 where nothing ran
    p99: float
    store_ms: float
    memory: int  # bytes, of all replicas together


@dataclass(frozen=True, slots=True)
class TeamState:
    """From the store that replicas share, or from one server that has no others."""

    name: str  # of the replica that shows it
    store: PostgresReplicas | None
    vitals: Vitals | None

    async def seen(self) -> list[SeenReplica]:
        """Return every replica that has been heard of within the last hour; raises StoreUnavailableError."""
        if self.store is not None:
            return await self.store.seen()
        vitals, now = self.vitals, time.time()
        assert vitals is not None
        told = vitals.status()
        return [SeenReplica(self.name, self.name, "", VERSION, vitals.began, now, vitals.drains, True, told)]

    async def points(self, minutes: int) -> list[Point]:
        """Return what so many minutes have brought, in order; raises StoreUnavailableError."""
        since = int(time.time() // MINUTE) - minutes
        if self.store is None:
            assert self.vitals is not None
            return add_up([(self.name, each) for each in self.vitals.samples], since, minutes)
        kept = await self.store.samples(since)
        told = [(name, Sample.read(minute, sample)) for name, minute, sample in kept]
        return add_up([(name, sample) for name, sample in told if sample is not None], since, minutes)

    async def told(self) -> JsonObject:
        """Return the replicas, and what the last hour has brought, for `onetool top`."""
        replicas: list[Json] = [each._asdict() for each in await self.seen()]
        return {"replicas": replicas, "hour": [each._asdict() for each in await self.points(HOUR)]}


def runs_of(seen: Iterable[SeenReplica], wanted: str = "") -> list[GoingRun]:
    """Return the runs in progress, the oldest first; those of a person, a replica or a name that contains `wanted`."""
    found = [run for replica in seen if replica.alive for run in _runs(replica)]
    wanted = wanted.casefold()
    chosen = [run for run in found if any(wanted in text.casefold() for text in (run.run, run.principal, run.replica))]
    return sorted(chosen, key=lambda run: run.began)


def _runs(replica: SeenReplica) -> Iterable[GoingRun]:
    told = replica.status.get("runs")
    for each in told if isinstance(told, list) else []:
        match each:
            case {
                "run": str(run), "principal": str(principal), "began": int() | float() as began, "state": str(state),
                "alone": bool(alone),
            }:  # fmt: skip
                yield GoingRun(run, principal, began, state, alone, replica.name)


def figure(status: Mapping[str, Json], name: str) -> float | None:
    """Return a figure that a replica tells of itself; None where it does not."""
    found = status.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def add_up(samples: Sequence[tuple[str, Sample]], since: int, minutes: int) -> list[Point]:
    """Add up the samples of all replicas, by spans of the same length."""
    span = max(1, minutes // POINTS)
    points = []
    for first in range(since, since + minutes, span):
        inside = [(name, each) for name, each in samples if first <= each.minute - 1 < first + span]
        buckets = [sum(counts) for counts in zip(*(each.buckets for _, each in inside), strict=True)]
        memory = {name: each.memory for name, each in inside}  # the last of each
        points.append(
            Point(
                (first + span) * MINUTE,
                sum(buckets),
                sum(each.errors for _, each in inside),
                sum(each.refused for _, each in inside),
                quantile(buckets, 0.5),
                quantile(buckets, 0.99),
                max((each.store_ms for _, each in inside), default=0.0),
                sum(memory.values()),
            )
        )
    return points


def quantile(buckets: Sequence[int], share: float) -> float:
    """Return the bound of the bucket in which this share of all runs is reached; 0 where there are none."""
    total = sum(buckets)
    if not total:
        return 0.0
    place = next(at for at, count in enumerate(accumulate(buckets)) if count >= total * share)
    return float(SECONDS[min(place, len(SECONDS) - 1)])
