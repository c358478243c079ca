"""What code costs on each engine: a run, a call, a warm kernel, and a loop of a component that can be interrupted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from bench.bench_calls import marginal_call
from bench.bench_runs import measure_apart, measure_back_to_back
from bench.process_tree import proportional_set_size
from bench.report import Line, compare_rounds
from bench.servers import RUN, Servers, open_servers, run, warm_up
from bench.stdio_client import StdioClient

REPEATS = 9
FEW, MANY = 1, 5  # kernels that are kept ready
# A component looks at every so many jumps and calls whether its time is over; code can switch that off.
LOOP = run("""
import json, sys, time

def loop():
    start = time.perf_counter()
    total = 0
    for number in range(300_000):
        total += number % 7
    return time.perf_counter() - start

times = [loop()]
sys.monitoring.set_events(sys.monitoring.OPTIMIZER_ID, 0)
json.dumps([1e3 * seconds for seconds in (*times, loop())])
""")


class Targets(NamedTuple):
    """The most that each figure should be."""

    apart: float  # ms
    back_to_back: float  # ms
    call: float  # µs
    memory: float  # MB


ENGINES = {"process": Targets(3, 5, 120, 10), "wasm": Targets(8, 15, 250, 60)}


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as servers:  # the component is compiled once for all of them
        for engine, targets in ENGINES.items():
            with _start(servers, engine) as server:
                yield from _measure_runs(servers, server, engine, targets)
            yield Line(
                f"{engine}: memory of a warm kernel", _memory_of_one(servers, engine), None, "MB", targets.memory
            )
        with _start(servers, "wasm") as server:
            warm_up(server, RUN)
            pairs: list[tuple[float, float]] = [json.loads(server.answer(*LOOP)) for _ in servers.rounds(REPEATS)]
        yield compare_rounds("wasm: a loop that can be interrupted / cannot", pairs, "ms", 3.5)


def _start(servers: Servers, engine: str, *, warm: int = 4) -> StdioClient:
    servers.enable_demo(more=f"execution: {{engine: {engine}, warm: {warm}}}\n")
    return servers.start_ours()


def _measure_runs(servers: Servers, server: StdioClient, engine: str, targets: Targets) -> Iterator[Line]:
    warm_up(server, RUN)
    apart = median(measure_apart(server, RUN) for _ in servers.rounds(REPEATS))
    yield Line(f"{engine}: run('1+1'), 10 ms apart", apart, None, "ms", targets.apart)
    back_to_back = median(measure_back_to_back(server, RUN) for _ in servers.rounds(REPEATS))
    yield Line(f"{engine}: run('1+1'), back to back", back_to_back, None, "ms", targets.back_to_back)
    yield Line(
        f"{engine}: marginal call of a plain tool", marginal_call(server, "demo.foo()"), None, "µs", targets.call
    )


def _memory_of_one(servers: Servers, engine: str) -> float:
    """Return by how many megabytes a server grows with each kernel that it keeps ready."""
    few, many = (_idle_memory(_start(servers, engine, warm=warm)) for warm in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _idle_memory(starting: StdioClient) -> float:
    with starting as server:
        warm_up(server, RUN)
        time.sleep(1)  # the warm kernels are replaced after the answer
        return proportional_set_size(server.pid) / 1e6
