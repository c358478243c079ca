"""The figures of a server in the text format of Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ot.telemetry.meters import Gauge, Histogram, Meters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "_seconds", "By": "_bytes", "{token}": "_tokens"}
_ODD = re.compile(r"[^a-zA-Z0-9_]")


def render(meters: Meters) -> str:
    """Write every figure, each with its words and its type."""
    lines = [line for histogram in meters.histograms for line in _histogram(histogram)]
    lines += [line for gauge in meters.gauges for line in _gauge(gauge)]
    return "".join(f"{line}\n" for line in lines)


def _histogram(histogram: Histogram) -> Iterator[str]:
    name = _name(histogram.name, histogram.unit)
    yield from _heading(name, histogram.words, "histogram")
    for labels, series in histogram.series():
        counts = list(series.counts)
        pairs = [f'{_plain(key)}="{_escape(value)}"' for key, value in zip(histogram.labels, labels, strict=True)]
        bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, accumulate(counts), strict=True):
            within = _braces([*pairs, f'le="{bound}"'])
            yield f"{name}_bucket{within} {count}"
        yield f"{name}_sum{_braces(pairs)} {series.total!r}"
        yield f"{name}_count{_braces(pairs)} {sum(counts)}"


def _gauge(gauge: Gauge) -> Iterator[str]:
    name = _name(gauge.name, gauge.unit) + ("_total" if gauge.total else "")
    yield from _heading(name, gauge.words, "counter" if gauge.total else "gauge")
    yield f"{name} {gauge.read():g}" if gauge.unit != "By" else f"{name} {int(gauge.read())}"


def _heading(name: str, words: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


def _name(name: str, unit: str) -> str:
    return _plain(name) + _UNITS.get(unit, "")


def _plain(name: str) -> str:
    return _ODD.sub("_", name)


def _braces(pairs: Sequence[str]) -> str:
    return "{" + ",".join(pairs) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
