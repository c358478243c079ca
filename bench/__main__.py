"""Runs every benchmark, or those whose names are given, and prints one table."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import bench
from bench.report import Line, print_heading, print_line
from bench.servers import Servers, open_servers


def main(wanted: list[str]) -> None:
    """Print lines as they are measured, so that a long run shows its progress."""
    with open_servers() as servers:
        print_heading()
        for line in _measure_all(servers, wanted):
            print_line(line)


def _measure_all(servers: Servers, wanted: list[str]) -> Iterator[Line]:
    names = sorted(module.name for module in pkgutil.iter_modules(bench.__path__))
    for name in names:
        subject = name.removeprefix("bench_")
        if subject != name and (not wanted or subject in wanted):
            yield from importlib.import_module(f"bench.{name}").measure(servers)


main(sys.argv[1:])
