"""10,000 runs in one server: its memory, which should be what it was after the first hundred."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.process_tree import proportional_set_size
from bench.scale.growth import make_series
from bench.servers import RUN, open_servers
from bench.stdio_client import StdioClient

RUNS = (100, 1_000, 2_500, 5_000, 7_500, 10_000)
IN_FLIGHT = 16
_AT_REST = 1.5  # seconds after which warm kernels are replaced, and statistics written
_LOOKS = 3


def measure(session: Session, *, runs: tuple[int, ...] = RUNS) -> Iterator[Curve]:
    samples: dict[float, list[float]] = {}
    with open_servers() as servers, servers.start_ours() as ours:
        ours.initialize()
        for done, memory in grow(ours, runs):
            session.tell(f"memory after {done:,} runs")
            samples[done] = memory
    series = make_series("server, zygote and warm kernels", samples)
    first, last = series.points[0][1], series.points[-1][1]
    about = f"After {runs[-1]:,} runs it is {last / first:.3f} times what it was after {runs[0]:,}."
    yield Curve("Memory after many runs", "runs", "MB (PSS)", (series,), about=about, logarithmic=False)


def grow(server: StdioClient, runs: tuple[int, ...]) -> Iterator[tuple[int, list[float]]]:
    """Make runs up to each number, and look several times at the memory of all processes, in megabytes."""
    done = 0
    for wanted in runs:
        server.call_many(*RUN, count=wanted - done, in_flight=min(IN_FLIGHT, wanted - done))
        done = wanted
        looks = []
        for _ in range(_LOOKS):
            time.sleep(_AT_REST / _LOOKS)
            looks.append(proportional_set_size(server.pid) / 1e6)
        yield done, looks
