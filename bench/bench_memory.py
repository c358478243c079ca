"""Memory of an idle server with everything that it keeps ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.process_tree import proportional_set_size
from bench.report import Line
from bench.servers import ECHO, RUN, Call, Servers
from bench.stdio_client import StdioClient


def measure(servers: Servers) -> Iterator[Line]:
    ours = _idle_memory(servers.start_ours, RUN)
    bare = _idle_memory(servers.start_bare, ECHO)
    yield Line("memory when idle, PSS of all processes", ours, bare, "MB", 1.5)


def _idle_memory(start: Callable[[], StdioClient], call: Call) -> float:
    with start() as server:
        server.initialize()
        server.call(*call)
        time.sleep(1)  # the warm kernels are replaced after the answer
        return proportional_set_size(server.pid) / 1e6
