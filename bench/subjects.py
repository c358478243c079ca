"""Finds the benchmarks that yield lines: one file `bench_*.py` each."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence

import bench
from bench.report import Line
from bench.servers import Servers


def measure_subjects(servers: Servers, wanted: Sequence[str]) -> Iterator[Line]:
    """Measure the subjects that are named, or all of them."""
    names = sorted(module.name for module in pkgutil.iter_modules(bench.__path__))
    for name in names:
        subject = name.removeprefix("bench_")
        if subject != name and (not wanted or subject in wanted):
            yield from importlib.import_module(f"bench.{name}").measure(servers)
