"""From starting the process to its first answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

from bench.report import Line
from bench.servers import ECHO, RUN, Call, Servers
from bench.stdio_client import StdioClient

REPEATS = 9


def measure(servers: Servers) -> Iterator[Line]:
    _start(servers.start_ours, RUN)  # the first start of all reads files that the others find in memory
    _start(servers.start_bare, ECHO)
    pairs = [(_start(servers.start_ours, RUN), _start(servers.start_bare, ECHO)) for _ in range(REPEATS)]
    for index, what, target in (
        (0, "start to answered initialize", 1.15),
        (1, "start to first answered run / call", 1.2),
    ):
        ours, bare = (median(pair[side][index] for pair in pairs) * 1e3 for side in (0, 1))
        yield Line(what, ours, bare, "ms", target)


def _start(start: Callable[[], StdioClient], call: Call) -> tuple[float, float]:
    """Seconds to the answered handshake, and to the first answered call."""
    begin = time.perf_counter()
    with start() as server:
        server.initialize()
        initialized = time.perf_counter() - begin
        server.call(*call)
        return initialized, time.perf_counter() - begin
