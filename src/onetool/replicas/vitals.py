"""How this server is: figures for `/metrics`, what it tells other replicas with each sign of life, and its last day.

A sample says what a minute brought: runs by how long they took, errors, refusals, and how store and memory were.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

import ot_system
from mcp_core.distribution import VERSION
from mcp_core.json_types import Json, JsonObject
from onetool.replicas.draining import Draining
from ot.telemetry.meters import SECONDS, Meters
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from ot.app import App
    from ot.store.postgres.link import PostgresLink

MINUTE = 60.0
_DAY = 24 * 60  # samples
_MOST_RUNS = 200  # that are told of


class Sample(NamedTuple):
    """A minute of one replica; `buckets` are counts of runs by their duration, with the bounds of the meters."""

    minute: int  # since the epoch
    buckets: list[int]
    errors: int
    refused: int
    store_ms: float  # the longest
    memory: int  # bytes

    @classmethod
    def read(cls, minute: int, told: JsonObject) -> Sample | None:
        """Read what another replica has told; None for what another version has told otherwise."""
        match told:
            case {
                "buckets": list(buckets),
                "errors": int(errors),
                "refused": int(refused),
                "store_ms": int() | float() as store_ms,
                "memory": int(memory),
            } if len(buckets) == len(SECONDS) + 1:
                counts = [each if isinstance(each, int) else 0 for each in buckets]
                return cls(minute, counts, errors, refused, float(store_ms), memory)
        return None

    def told(self) -> JsonObject:
        found: JsonObject = {"buckets": [*self.buckets], "errors": self.errors, "refused": self.refused}
        return {**found, "store_ms": self.store_ms, "memory": self.memory}


class Vitals:
    """Looked at by the event loop of the server, and by the thread that sends telemetry."""

    def __init__(
        self, telemetry: Telemetry, draining: Draining, folder: Path, link: PostgresLink | None = None
    ) -> None:
        self.all_open: Callable[[], Sequence[tuple[str, App]]] = list  # the open engines, each with its principal
        self.samples: deque[Sample] = deque(maxlen=_DAY)  # of this process, the oldest first
        self.began = time.time()
        self._telemetry = telemetry
        self._draining = draining
        self._folder = folder
        self._link = link
        self._latency = self._longest = 0.0  # seconds, of the last write to the store and of the longest in this minute
        self._before = ([0] * (len(SECONDS) + 1), 0, 0)
        if telemetry.meters is not None:
            self._offer(telemetry.meters)

    @property
    def drains(self) -> bool:
        return self._draining.begun

    async def keep_samples(self) -> None:
        """Take a sample a minute, for a server that tells no others; until cancelled."""
        while True:
            await anyio.sleep(MINUTE)
            self.sample()

    def note_write(self, seconds: float) -> None:
        """Note how long a write to the shared store has taken."""
        self._latency, self._longest = seconds, max(self._longest, seconds)
        if self._telemetry.meters is not None:
            self._telemetry.meters.store.record(seconds, ())

    def status(self) -> JsonObject:
        """Say how this server is."""
        used, waiting = self._kernels()
        people: list[Json] = [{"principal": who, "runs": app.runs.count} for who, app in self.all_open()]
        found: JsonObject = {"used": used, "waiting": waiting, "people": people, "runs": self._runs()}
        if self._link is not None:
            found["store_ms"] = round(self._latency * 1000, 1)
        return {**found, "disk_free": self._disk_free(), "memory": _memory()}

    def sample(self) -> Sample:
        """Say what has happened since the last sample, and keep it."""
        meters = self._telemetry.meters or Meters()
        buckets, errors = [0] * (len(SECONDS) + 1), 0
        for labels, series in meters.runs.series():
            counts = list(series.counts)
            buckets = [one + other for one, other in zip(buckets, counts, strict=True)]
            errors += sum(counts) if labels[0] else 0
        refused = meters.refusals.total
        had, failed, turned = self._before
        self._before = buckets, errors, refused
        since = [now - before for now, before in zip(buckets, had, strict=True)]
        minute = int(time.time() // MINUTE)
        sample = Sample(minute, since, errors - failed, refused - turned, round(self._longest * 1000, 1), _memory())
        self._longest = 0.0
        self.samples.append(sample)
        return sample

    def _offer(self, meters: Meters) -> None:
        link, store = self._link, "sqlite" if self._link is None else "postgresql"
        meters.add_gauge("onetool.build.info", "", "The build that runs", lambda: 1, version=VERSION, store=store)
        for name, unit, words, read in (
            ("store.up", "", "1 while the store can be used", lambda: link is None or not link.problem),
            ("store.connections", "", "Connections to the database", lambda: self._connections()[0]),
            ("store.connections_used", "", "Connections to the database in use", lambda: self._connections()[1]),
            ("kernel.used", "", "Kernels in use", lambda: self._kernels()[0]),
            ("kernel.waiting", "", "Runs that wait for a kernel", lambda: self._kernels()[1]),
            ("engine.open", "", "People whose engine is open", self._engines),
            ("draining", "", "1 once this server is about to end", lambda: self.drains),
            ("disk.free", "By", "Free space in the state folder", self._disk_free),
        ):
            meters.add_gauge(f"onetool.{name}", unit, words, read)

    def _connections(self) -> tuple[int, int]:
        return (0, 0) if self._link is None else self._link.connections

    def _kernels(self) -> tuple[int, int]:
        """Count the kernels in use, and the runs that wait for one; all engines share them."""
        supply = next((app.supply for _, app in self.all_open()), None)
        return (0, 0) if supply is None else (supply.used, supply.waiting)

    def _engines(self) -> int:
        return len(self.all_open())

    def _runs(self) -> list[Json]:
        """List the runs in progress, without anything of their code: whose, since when, and what they wait for."""
        found: list[Json] = []
        now = time.time()
        for principal, app in self.all_open():
            for run in app.runs.in_progress():
                state = "waits for an answer" if run.waits_for else "goes on alone" if run.detached else "is attended"
                began = round(now - run.elapsed, 1)
                found.append(
                    {"run": run.id, "principal": principal, "began": began, "state": state, "alone": run.detached}
                )
        return found[:_MOST_RUNS]

    def _disk_free(self) -> int:
        with suppress(OSError):
            return shutil.disk_usage(self._folder).free
        return 0


def _memory() -> int:
    with suppress(OSError):
        return ot_system.resident_memory()
    return 0
