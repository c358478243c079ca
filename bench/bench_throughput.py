"""How many runs a second, with sixteen in flight."""

from __future__ import annotations

from collections.abc import Iterator

from bench.fork_rate import measure_fork_rate
from bench.report import Line, compare_rounds
from bench.servers import ECHO, RUN, Call, Servers, warm_up
from bench.stdio_client import StdioClient
from ot.kernel.zygote_process import PIN_PAGES

REPEATS = 5
COUNT = 300
IN_FLIGHT = 16


def measure(servers: Servers) -> Iterator[Line]:
    with servers.open_pair() as (ours_server, bare_server):
        rates = [
            (
                _rate(ours_server, RUN),
                _rate(bare_server, ECHO),
                measure_fork_rate(count=COUNT, in_flight=IN_FLIGHT),
            )
            for _ in servers.rounds(REPEATS)
        ]
    echoes = [(ours, bare) for ours, bare, _ in rates]
    yield compare_rounds("runs a second, 16 in flight / echo", echoes, "/s", 0.4, lower_is_better=False)
    forks = [(ours, forked) for ours, _, forked in rates]
    yield compare_rounds("runs a second, 16 in flight / kernels of a zygote", forks, "/s", 0.75, lower_is_better=False)

    yield _measure_pinned_pages(servers)


def _measure_pinned_pages(servers: Servers) -> Line:
    """Compare ours with itself, without the pages that the zygote pins for its forks."""
    with servers.start_ours() as pinned, servers.start_ours({PIN_PAGES: "off"}) as plain:
        for server in (pinned, plain):
            warm_up(server, RUN)
        rates = [(_rate(pinned, RUN), _rate(plain, RUN)) for _ in servers.rounds(REPEATS)]
    return compare_rounds("runs a second, pinned pages / without", rates, "/s", 1.2, lower_is_better=False)


def _rate(server: StdioClient, call: Call) -> float:
    return COUNT / server.call_many(*call, count=COUNT, in_flight=IN_FLIGHT)
