"""The figures of a server: how long things took, by a few labels, counted in plain lists.

Prometheus reads them as text, and `otlp` sends them; counting takes about a microsecond and loads nothing.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

import ot_system

# Seconds; the conventions name the upper ones, and a run that takes a millisecond needs the lower ones.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)
MOST_SERIES = 500  # of one histogram
OTHER = "_OTHER"  # in place of labels that would begin one series too many

Labels = tuple[str, ...]
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "_seconds", "By": "_bytes", "{token}": "_tokens"}
_ODD = re.compile(r"[^a-zA-Z0-9_]")


class Series:
    """The values of one set of labels."""

    __slots__ = ("counts", "highest", "lowest", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0
        self.lowest = float("inf")
        self.highest = float("-inf")


class Histogram:
    """Values by labels, sorted into buckets."""

    def __init__(self, name: str, unit: str, words: str, labels: Labels, bounds: Sequence[float] = SECONDS) -> None:
        self.name = name
        self.unit = unit
        self.words = words
        self.labels = labels
        self.bounds = bounds
        self._series: dict[Labels, Series] = {}

    def record(self, value: float, labels: Labels) -> None:
        """Count one value; the labels are in the order of their names."""
        series = self._series.get(labels)
        if series is None:
            labels = labels if len(self._series) < MOST_SERIES else (OTHER,) * len(labels)
            series = self._series.setdefault(labels, Series(len(self.bounds) + 1))
        series.counts[bisect_left(self.bounds, value)] += 1
        series.total += value
        series.lowest = min(series.lowest, value)
        series.highest = max(series.highest, value)

    def series(self) -> list[tuple[Labels, Series]]:
        """Return all of them; may be called on any thread."""
        return list(self._series.items())


class Counter:
    """Occurrences by labels; those in `known` are there from the beginning, as zeros."""

    def __init__(self, name: str, words: str, labels: Labels = (), known: Sequence[Labels] = ((),)) -> None:
        self.name = name
        self.words = words
        self.labels = labels
        self._counts = dict.fromkeys(known, 0)

    def add(self, *labels: str) -> None:
        """Count one; the labels are in the order of their names."""
        if labels not in self._counts and len(self._counts) >= MOST_SERIES:
            labels = (OTHER,) * len(labels)
        self._counts[labels] = self._counts.get(labels, 0) + 1

    def counts(self) -> list[tuple[Labels, int]]:
        """Return all of them; may be called on any thread."""
        return list(self._counts.items())

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts())


class Gauge(NamedTuple):
    """A figure that is looked up when somebody wants to know; `total` if it can only grow, `labels` always the same."""

    name: str
    unit: str
    words: str
    read: Callable[[], float]
    total: bool = False
    labels: tuple[tuple[str, str], ...] = ()


class Meters:
    """All figures of one server process."""

    def __init__(self) -> None:
        self.began = time.time_ns()
        of_request, of_call = ("mcp.method.name", "error.type"), ("onetool.pack", "onetool.effect", "error.type")
        of_model = "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"
        request, usage = "gen_ai.client.operation.duration", "gen_ai.client.token.usage"
        self.operations = Histogram("mcp.server.operation.duration", "s", "Requests of MCP clients", of_request)
        self.runs = Histogram("onetool.run.duration", "s", "Runs of commands", ("error.type",))
        self.calls = Histogram("onetool.call.duration", "s", "Calls of tools, by pack", of_call)
        self.model_requests = Histogram(request, "s", "Requests to models", (*of_model, "error.type"))
        of_tokens = (*of_model, "gen_ai.token.type")
        self.model_tokens = Histogram(usage, "{token}", "Tokens of requests to models", of_tokens, TOKENS)
        self.store = Histogram("onetool.store.duration", "s", "Writes to a shared store, one every few seconds", ())
        self.histograms = (
            self.operations, self.runs, self.calls, self.model_requests, self.model_tokens, self.store
        )  # fmt: skip
        limits = [(limit,) for limit in ("calls_per_minute", "concurrent_runs", "runs_per_minute")]
        self.refusals = Counter("onetool.limit.refusals", "Runs and calls refused by a limit", ("limit",), limits)
        statuses = [("401",), ("503",)]
        self.turned_away = Counter("onetool.http.refusals", "Requests answered 401 or 503", ("status",), statuses)
        self.takeovers = Counter("onetool.run.takeovers", "Runs taken over from a replica whose lease has ended")
        self.counters = self.refusals, self.turned_away, self.takeovers
        self.gauges: list[Gauge] = []

    def add_gauge(
        self, name: str, unit: str, words: str, read: Callable[[], float], *, total: bool = False, **labels: str
    ) -> None:
        """Offer one more figure; `read` may be called on any thread."""
        self.gauges.append(Gauge(name, unit, words, read, total, (*labels.items(),)))


def add_process_figures(meters: Meters) -> None:
    """Add processor time, memory, open files and age; a system that does not tell has a zero."""
    began = time.monotonic()

    def read_memory() -> float:
        with suppress(OSError):
            return ot_system.resident_memory()
        return 0

    def count_descriptors() -> float:
        with suppress(OSError):
            return ot_system.count_descriptors()
        return 0

    meters.add_gauge("process.cpu.time", "s", "Processor time of the server process", time.process_time, total=True)
    meters.add_gauge("process.memory.usage", "By", "Memory of the server process", read_memory)
    meters.add_gauge("process.open_file_descriptor.count", "{count}", "Open files", count_descriptors)
    meters.add_gauge("process.uptime", "s", "Time since the server began", lambda: time.monotonic() - began)


def render_prometheus(meters: Meters) -> str:
    """Write every figure in the text format of Prometheus, each with its words and its type."""
    lines = [line for histogram in meters.histograms for line in _histogram(histogram)]
    lines += [line for counter in meters.counters for line in _counter(counter)]
    lines += [line for gauge in meters.gauges for line in _gauge(gauge)]
    return "".join(f"{line}\n" for line in lines)


def _histogram(histogram: Histogram) -> Iterator[str]:
    name = _name(histogram.name, histogram.unit)
    yield from _heading(name, histogram.words, "histogram")
    for labels, series in histogram.series():
        counts = list(series.counts)
        pairs = _pairs(zip(histogram.labels, labels, strict=True))
        bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, accumulate(counts), strict=True):
            within = _braces([*pairs, f'le="{bound}"'])
            yield f"{name}_bucket{within} {count}"
        yield f"{name}_sum{_braces(pairs)} {series.total!r}"
        yield f"{name}_count{_braces(pairs)} {sum(counts)}"


def _counter(counter: Counter) -> Iterator[str]:
    name = f"{_plain(counter.name)}_total"
    yield from _heading(name, counter.words, "counter")
    for labels, count in counter.counts():
        yield f"{name}{_braces(_pairs(zip(counter.labels, labels, strict=True)))} {count}"


def _gauge(gauge: Gauge) -> Iterator[str]:
    name = _name(gauge.name, gauge.unit) + ("_total" if gauge.total else "")
    yield from _heading(name, gauge.words, "counter" if gauge.total else "gauge")
    name += _braces(_pairs(gauge.labels))
    yield f"{name} {gauge.read():g}" if gauge.unit != "By" else f"{name} {int(gauge.read())}"


def _heading(name: str, words: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


def _name(name: str, unit: str) -> str:
    return _plain(name) + _UNITS.get(unit, "")


def _plain(name: str) -> str:
    return _ODD.sub("_", name)


def _pairs(labels: Iterable[tuple[str, str]]) -> list[str]:
    return [f'{_plain(key)}="{_escape(value)}"' for key, value in labels]


def _braces(pairs: Sequence[str]) -> str:
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
