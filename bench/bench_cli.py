"""One command from its start to its end, beside the bare interpreter."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from bench.report import Line
from bench.servers import Servers

REPEATS = 9


def measure(servers: Servers) -> Iterator[Line]:
    run, tools = ("-m", "onetool", "run", "1+1"), ("-m", "onetool", "tools")
    for arguments in (run, tools):
        _seconds(servers, *arguments)  # the first of all reads the packs, which the others find read
    rounds = [
        (_seconds(servers, *run), _seconds(servers, *tools), _seconds(servers, "-c", "pass"))
        for _ in servers.rounds(REPEATS)
    ]
    runs, listings, bare = (median(each) * 1e3 for each in zip(*rounds, strict=True))
    yield Line(f"onetool run '1+1', start to end (bare interpreter {bare:.0f} ms)", runs, None, "ms", 300)
    yield Line("onetool tools, start to end", listings, None, "ms", 300)


def _seconds(servers: Servers, *arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env={"PATH": "", "HOME": str(servers.folder)},
        cwd=servers.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - begin
