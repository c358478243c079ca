"""What ten megabytes of result cost more than none: the same code, and a run that returns None instead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.report import Line
from bench.servers import RUN, Servers, run, warm_up
from bench.stdio_client import StdioClient

REPEATS = 9
TARGET = 300  # ms
RESULTS = {
    "10 MB in one line": "x = 'x' * 10_000_000",
    "10 MB in 100,000 lines": "x = ('y' * 99 + '\\n') * 100_000",
    "10 MB in a list of 100,000": "x = ['y' * 95 + f'{n:5}' for n in range(100_000)]",
}


def measure(servers: Servers) -> Iterator[Line]:
    with servers.start_ours() as ours:
        warm_up(ours, RUN)
        for name, code in RESULTS.items():
            pairs = [(_seconds(ours, f"{code}\nx"), _seconds(ours, f"{code}\nNone")) for _ in range(REPEATS)]
            more = median(pair[0] - pair[1] for pair in pairs) * 1e3
            yield Line(f"{name} as a result, more than None", more, None, "ms", TARGET)


def _seconds(server: StdioClient, code: str) -> float:
    time.sleep(0.05)
    return server.call(*run(code))
