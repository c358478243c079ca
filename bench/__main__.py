"""Runs every benchmark, or those whose names are given, and prints one table."""

from __future__ import annotations

import sys

from bench.report import print_drift, print_heading, print_line
from bench.servers import open_servers
from bench.subjects import measure_subjects


def main(wanted: list[str]) -> None:
    """Print lines as they are measured, so that a long run shows its progress."""
    with open_servers() as servers:
        print_heading()
        for line in measure_subjects(servers, wanted):
            print_line(line)
        print_drift(servers.drift)


main(sys.argv[1:])
