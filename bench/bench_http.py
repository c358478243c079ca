"""What HTTP adds to a run: the same work for a client at the pipes of a server and for one at its address."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.http_client import HttpClient
from bench.report import Line
from bench.servers import RUN, Servers, warm_up
from bench.stdio_client import StdioClient

REPEATS = 50


def measure(servers: Servers) -> Iterator[Line]:
    with servers.start_ours() as stdio, servers.start_ours_over_http() as http:
        warm_up(stdio, RUN)
        for _ in range(20):
            http.call(*RUN)
        pairs = [(_apart(http), _apart(stdio)) for _ in range(REPEATS)]
        over_http, over_stdio = (median(times) * 1e3 for times in zip(*pairs, strict=True))
        yield Line("run('1+1'), sessionless over HTTP / over stdio", over_http, over_stdio, "ms", 4)


def _apart(client: HttpClient | StdioClient) -> float:
    time.sleep(0.01)
    return client.call(*RUN)
