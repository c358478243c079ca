"""What one run costs: with time between runs, back to back, and many at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.report import Line, compare_rounds
from bench.servers import ECHO, RUN, Call, Servers, run
from bench.stdio_client import StdioClient

REPEATS = 9
BATCH = 25
IN_FLIGHT = 16
SLEEP = run("import time\ntime.sleep(0.05)")


def measure(servers: Servers) -> Iterator[Line]:
    with servers.open_pair() as (ours, bare):
        apart = [(measure_apart(ours, RUN), measure_apart(bare, ECHO)) for _ in servers.rounds(REPEATS)]
        yield compare_rounds("run('1+1'), 10 ms apart / echo", apart, "ms", 1.4)

        rows = [(measure_back_to_back(ours, RUN), measure_back_to_back(bare, ECHO)) for _ in servers.rounds(REPEATS)]
        yield compare_rounds("run('1+1'), back to back / echo", rows, "ms", 2.5)

        sleeps = [(_at_once(ours, SLEEP, IN_FLIGHT), _at_once(ours, SLEEP, 1)) for _ in servers.rounds(REPEATS)]
        yield compare_rounds("16 concurrent runs of a 50 ms sleep / one", sleeps, "ms", 3)


def measure_apart(server: StdioClient, call: Call) -> float:
    """Milliseconds of a call, with time between them."""
    times = []
    for _ in range(BATCH):
        time.sleep(0.01)
        times.append(server.call(*call))
    return median(times) * 1e3


def measure_back_to_back(server: StdioClient, call: Call) -> float:
    """Milliseconds of a call, one after the other."""
    return server.call_many(*call, count=BATCH, in_flight=1) / BATCH * 1e3


def _at_once(server: StdioClient, call: Call, count: int) -> float:
    time.sleep(0.1)
    return server.call_many(*call, count=count, in_flight=count) * 1e3
