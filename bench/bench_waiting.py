"""How long another client waits for its run while one run does its worst."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.hostile_runs import FORGE, HOSTILE
from bench.report import Line
from bench.servers import RUN, Servers, run, warm_up
from bench.stdio_client import StdioClient

SECONDS = 3.0  # for which each hostile run is endured, unless it ends
TARGET = 1000  # ms


def measure(servers: Servers) -> Iterator[Line]:
    servers.enable_demo()
    waits = {}
    for name, code in HOSTILE.items():
        with servers.start_ours() as ours:
            warm_up(ours, RUN)
            waits[name] = _longest_wait(ours, code) * 1e3
    worst = max(waits, key=lambda name: waits[name])
    yield Line(f"another run waits at most, beside {worst}"[:52], waits[worst], None, "ms", TARGET)


def _longest_wait(server: StdioClient, code: str) -> float:
    server.begin(*run(f"{FORGE}{code}"))
    end = time.perf_counter() + SECONDS
    longest = 0.0
    while time.perf_counter() < end:
        longest = max(longest, server.call(*RUN))
    return longest
