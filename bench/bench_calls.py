"""What one more tool call costs inside a run: eleven calls minus one, divided by ten."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.report import Line
from bench.servers import Servers, open_servers, run
from bench.stdio_client import StdioClient

REPEATS = 150  # each is a small difference of two long times


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as servers:
        servers.enable_demo()
        yield from _measure(servers)


def _measure(servers: Servers) -> Iterator[Line]:
    with servers.open_pair() as (ours, _):
        plain = marginal_call(ours, "demo.foo()")
        yield Line("marginal call of a plain tool", plain, None, "µs", 120)
        asynchronous = marginal_call(ours, "demo.upper(text='a')")
        yield Line("marginal call of an async tool", asynchronous, None, "µs", 90)


def marginal_call(server: StdioClient, call: str) -> float:
    """Microseconds that one more call takes in a run that makes others."""
    one, eleven = (run(f"for _ in range({count}):\n    {call}") for count in (1, 11))
    differences = []
    for _ in range(REPEATS):
        time.sleep(0.01)
        short = server.call(*one)
        time.sleep(0.01)
        differences.append(server.call(*eleven) - short)
    return median(differences) / 10 * 1e6
