"""What the journal costs: one more call of a run with and without it; and a run that is answered from it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from statistics import median

from bench.report import Line
from bench.servers import RUN, Servers, open_servers, run, warm_up
from bench.stdio_client import CallFailedError, StdioClient

REPEATS = 25
CALLS = 300
READS, EFFECT = "demo.upper(text='a')", "ot.notify(topic='nothing', message='a')"
_SLOW = "ot.parallel(*[lambda n=n: demo.block(seconds=0.05 + n / 1e6) for n in range(100)])"


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as kept, open_servers() as unkept:
        kept.enable_demo()
        unkept.enable_demo(more="journal: {enabled: false}\n")
        with kept.start_ours() as ours, unkept.start_ours() as other:
            for server in (ours, other):
                warm_up(server, RUN)
            yield Line("a call that reads, dearer by the journal", _difference(ours, other, READS), None, "µs", 10)
            yield Line("a call with effect, dearer by the journal", _difference(ours, other, EFFECT), None, "µs", 10)
            yield Line("run('1+1') with the journal / without", *_runs(ours, other), "ms", 1.05)
            yield Line("a resumed run of 100 slow calls, minus none", _resumed(ours), None, "ms", 50)


def _difference(ours: StdioClient, other: StdioClient, call: str) -> float:
    """Microseconds by which each of many calls takes longer; measured in turns."""
    loop = run(f"for _ in range({CALLS}):\n    {call}")
    differences = [_time(ours, loop) - _time(other, loop) for _ in range(REPEATS)]
    return median(differences) / CALLS * 1e6


def _runs(ours: StdioClient, other: StdioClient) -> tuple[float, float]:
    times = [(_time(ours, RUN), _time(other, RUN)) for _ in range(REPEATS * 8)]
    return median(each[0] for each in times) * 1e3, median(each[1] for each in times) * 1e3


def _resumed(server: StdioClient) -> float:
    again = run(f"ot.resume(run='{_fail(server)}')\nlen({_SLOW})")
    return median(_time(server, again) - _time(server, RUN) for _ in range(REPEATS)) * 1e3


def _fail(server: StdioClient) -> str:
    """Make the calls in a run that fails, and return its name."""
    said = ""
    try:
        server.call(*run(f"{_SLOW}\n1 / 0"))
    except CallFailedError as error:
        said = str(error)
    return str(re.findall(r"ot\.resume\(run=\W*(\w+)", said)[0])


def _time(server: StdioClient, call: tuple[str, dict[str, str]]) -> float:
    time.sleep(0.01)
    return server.call(*call)
