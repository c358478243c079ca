"""Figures of the process itself, as the system counts them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ot.telemetry.meters import Meters

_STATM = Path("/proc/self/statm")
_DESCRIPTORS = Path("/proc/self/fd")


def add_process_figures(meters: Meters) -> None:
    """Add processor time, memory, open files and age; a system that does not tell has a zero."""
    began = time.monotonic()
    meters.add_gauge("process.cpu.time", "s", "Processor time of the server process", time.process_time, total=True)
    meters.add_gauge("process.memory.usage", "By", "Memory of the server process", _read_memory)
    meters.add_gauge("process.open_file_descriptor.count", "{count}", "Open files", _count_descriptors)
    meters.add_gauge("process.uptime", "s", "Time since the server began", lambda: time.monotonic() - began)


def _read_memory() -> float:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


def _count_descriptors() -> float:
    try:
        return len(os.listdir(_DESCRIPTORS))  # noqa: PTH208 - a scrape every few seconds needs no Path for each
    except OSError:
        return 0
