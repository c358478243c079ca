"""0 to 100 servers in the configuration: what they cost before code needs one, and all at once."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.process_tree import proportional_set_size
from bench.scale.configured import connect_all, open_home_with_servers, time_start
from bench.scale.growth import describe_growth, make_series
from bench.servers import RUN, Servers, run

SERVERS = (1, 10, 30, 100)
MOST_ROUNDS = 3
_AT_REST = 1.0  # seconds after which warm kernels are replaced


def measure(session: Session, *, counts: tuple[int, ...] = SERVERS) -> Iterator[Curve]:
    starts: dict[float, list[float]] = {}
    memory: dict[float, list[float]] = {}
    first_calls: dict[float, list[float]] = {}
    all_calls: dict[float, list[float]] = {}
    rounds = range(min(session.rounds, MOST_ROUNDS))
    for count in counts:
        with open_home_with_servers(count) as servers:
            session.tell(f"{count} servers configured")
            connect_all(servers, count)
            starts[count] = [time_start(servers) for _ in rounds]
            measured = [_use(servers, count) for _ in rounds]
            memory[count], first_calls[count], all_calls[count] = map(list, zip(*measured, strict=True))
    start = make_series("start to the first answered run", starts)
    first = make_series("the first call of one server", first_calls)
    every = make_series("the first call of every server, in one run", all_calls)
    about = " ".join(map(describe_growth, (start, first, every)))
    yield Curve("Many servers configured: time", "servers", "ms", (start, first, every), about=about)
    idle = make_series("memory, none of them started", memory)
    yield Curve("Many servers configured: memory", "servers", "MB (PSS)", (idle,), about=describe_growth(idle))


def _use(servers: Servers, count: int) -> tuple[float, float, float]:
    """Megabytes while no server has been started, and milliseconds of the first call of one, then of all."""
    with servers.start_ours() as ours:
        ours.initialize()
        ours.call(*RUN)
        time.sleep(_AT_REST)
        memory = proportional_set_size(ours.pid) / 1e6
        first = ours.call(*run("server0.echo(text='a')"))
        names = ", ".join(f"server{number}" for number in range(count))
        every = ours.call(*run(f"for pack in ({names},):\n    pack.echo(text='a')"))  # the first is up already
    return memory, first * 1e3, (first + every) * 1e3
