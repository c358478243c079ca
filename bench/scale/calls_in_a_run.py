"""1 to 10,000 calls in one run."""

from __future__ import annotations

from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.scale.growth import describe_growth, make_series
from bench.servers import RUN, open_servers, run, warm_up

CALLS = (1, 10, 100, 1_000, 10_000)
TOOLS = {"a plain tool": "demo.foo()", "an async tool": "demo.upper(text='a')"}


def measure(session: Session, *, calls: tuple[int, ...] = CALLS) -> Iterator[Curve]:
    taken: dict[str, dict[float, list[float]]] = {tool: {count: [] for count in calls} for tool in TOOLS}
    with open_servers() as servers:
        servers.enable_demo()
        with servers.start_ours() as ours:
            warm_up(ours, RUN)
            for _ in range(session.rounds):
                for tool, call in TOOLS.items():
                    for count in calls:
                        session.tell(f"calls of {tool} in a run: {count:,}")
                        seconds = ours.call(*run(f"for _ in range({count}):\n    {call}"))
                        taken[tool][count].append(seconds * 1e3)
    series = tuple(make_series(tool, samples) for tool, samples in taken.items())
    yield Curve("Calls in one run", "calls", "ms of the run", series, about=" ".join(map(describe_growth, series)))
