"""Memory of an idle server with everything that it keeps ready, and what it grows by with runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

from bench.process_tree import proportional_set_size
from bench.report import Line, compare_rounds
from bench.scale.many_runs import grow
from bench.servers import ECHO, RUN, Call, Servers
from bench.stdio_client import StdioClient

REPEATS = 5
MANY_RUNS = 100, 2_000  # `make bench-scale` makes 10,000


def measure(servers: Servers) -> Iterator[Line]:
    for _ in range(2):  # what the server answers is remembered by the first start and confirmed by the second
        _idle_memory(servers.start_ours, RUN)
    pairs = [
        (_idle_memory(servers.start_ours, RUN), _idle_memory(servers.start_bare, ECHO)) for _ in servers.rounds(REPEATS)
    ]
    yield compare_rounds("memory when idle, PSS of all processes", pairs, "MB", 1.2)
    with servers.start_ours() as server:
        server.initialize()
        first, last = (median(memory) for _, memory in grow(server, MANY_RUNS))
    what = f"memory after {MANY_RUNS[1]:,} runs, more than after {MANY_RUNS[0]:,}"
    yield Line(what, 100 * (last / first - 1), None, "%", 5)


def _idle_memory(start: Callable[[], StdioClient], call: Call) -> float:
    with start() as server:
        server.initialize()
        server.call(*call)
        time.sleep(1)  # the warm kernels are replaced after the answer
        return proportional_set_size(server.pid) / 1e6
