"""From starting the process to its first answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.report import Line, compare_rounds
from bench.servers import ECHO, RUN, Call, Servers
from bench.stdio_client import StdioClient

REPEATS = 9


def measure(servers: Servers) -> Iterator[Line]:
    _start(servers.start_ours, RUN)  # the first start of all reads files that the others find in memory
    _start(servers.start_bare, ECHO)
    again, first, bare = [], [], []
    for _ in servers.rounds(REPEATS):
        again.append(_start(servers.start_ours, RUN))
        bare.append(_start(servers.start_bare, ECHO))
        servers.forget_answers()
        first.append(_start(servers.start_ours, RUN))  # and what it answers is remembered for the next round
    for starts, index, what, target in (
        (again, 0, "start to answered initialize", 0.3),
        (again, 1, "start to first answered run / call", 0.8),
        (first, 0, "the same with nothing remembered, initialize", 1.15),
        (first, 1, "the same with nothing remembered, run / call", 1.2),
    ):
        pairs = [(ours[index] * 1e3, floor[index] * 1e3) for ours, floor in zip(starts, bare, strict=True)]
        yield compare_rounds(what, pairs, "ms", target)


def _start(start: Callable[[], StdioClient], call: Call) -> tuple[float, float]:
    """Seconds to the answered handshake, and to the first answered call."""
    begin = time.perf_counter()
    with start() as server:
        server.initialize()
        initialized = time.perf_counter() - begin
        server.call(*call)
        return initialized, time.perf_counter() - begin
