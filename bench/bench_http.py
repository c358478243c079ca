"""What HTTP adds to a run: the same work for a client at the pipes of a server and for one at its address."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.http_client import HttpClient
from bench.report import Line, compare_rounds
from bench.servers import RUN, Servers, warm_up
from bench.stdio_client import StdioClient

REPEATS = 15
ROUNDS = 5
COUNT = 300  # runs of a round
IN_FLIGHT = 16


def measure(servers: Servers) -> Iterator[Line]:
    with servers.start_ours() as stdio, servers.start_ours_over_http() as http:
        warm_up(stdio, RUN)
        for _ in range(20):
            http.call(*RUN)
        apart = [(_apart(http), _apart(stdio)) for _ in servers.rounds(ROUNDS)]
        yield compare_rounds("run('1+1'), sessionless over HTTP / over stdio", apart, "ms", 2)
        rates = [(_rate(http), _rate(stdio)) for _ in servers.rounds(ROUNDS)]
        what = "runs a second, 16 in flight, over HTTP / over stdio"
        yield compare_rounds(what, rates, "/s", 0.6, lower_is_better=False)


def _apart(client: HttpClient | StdioClient) -> float:
    """Milliseconds of one run, of several with time between them."""
    times = []
    for _ in range(REPEATS):
        time.sleep(0.01)
        times.append(client.call(*RUN))
    return median(times) * 1e3


def _rate(client: HttpClient | StdioClient) -> float:
    return COUNT / client.call_many(*RUN, count=COUNT, in_flight=IN_FLIGHT)
