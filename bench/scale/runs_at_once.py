"""1 to 64 runs at once: how many are answered a second, and how long those take that only wait."""

from __future__ import annotations

from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.scale.growth import describe_growth, make_series
from bench.servers import ECHO, RUN, Call, open_servers, run
from bench.stdio_client import StdioClient

IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64)
COUNT = 96  # runs of a point, in each round
WAIT = run("import time\ntime.sleep(0.05)")


def measure(session: Session, *, in_flight: tuple[int, ...] = IN_FLIGHT, count: int = COUNT) -> Iterator[Curve]:
    with open_servers() as servers, servers.open_pair() as (ours, bare):
        rates: dict[float, list[float]] = {number: [] for number in in_flight}
        echoes: dict[float, list[float]] = {number: [] for number in in_flight}
        waits: dict[float, list[float]] = {number: [] for number in in_flight}
        for _ in range(session.rounds):
            for number in in_flight:
                session.tell(f"runs at once: {number}")
                rates[number].append(_rate(ours, RUN, count, number))
                echoes[number].append(_rate(bare, ECHO, count, number))
                waits[number].append(ours.call_many(*WAIT, count=number, in_flight=number) * 1e3)
    answered = make_series("run('1+1')", rates)
    yield Curve(
        "Runs a second, by runs at once",
        "runs in flight",
        "answered a second",
        (answered, make_series("echo of a bare SDK server", echoes)),
        about=describe_growth(answered),
    )
    waiting = make_series("runs that sleep 50 ms", waits)
    yield Curve(
        "Runs that wait, all at once",
        "runs in flight",
        "ms until all are answered",
        (waiting,),
        about=describe_growth(waiting),
    )


def _rate(server: StdioClient, call: Call, count: int, in_flight: int) -> float:
    count = max(count, in_flight)
    return count / server.call_many(*call, count=count, in_flight=in_flight)
