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
        servers.empty_state()
        first.append(_start(servers.start_ours, RUN))
    for starts, index, what, target in (
        (again, 0, "start to answered initialize", 0.2),
        (again, 1, "start to first answered run / call", 0.4),
        (first, 0, "the same with an empty state folder, initialize", 0.2),
        (first, 1, "the same with an empty state folder, run / call", 0.4),
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
