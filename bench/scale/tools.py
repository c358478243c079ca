"""1 to 15,000 tools: the start, the search, and what a model is offered."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from statistics import median

from bench.figures import Curve, Session
from bench.invented_tools import invent_text
from bench.scale.configured import open_home_with_tools, time_start
from bench.scale.growth import Samples, describe_growth, make_series
from bench.servers import RUN, Servers, run, warm_up
from tests.tokens import count_tokens

TOOLS = (1, 10, 100, 1_000, 5_000, 15_000)
QUERIES = 10  # of a round
MOST_STARTS = 5
_WORDS = 6  # of a query


def measure(session: Session, *, tools: tuple[int, ...] = TOOLS) -> Iterator[Curve]:
    starts: dict[float, list[float]] = {}
    searches: dict[float, list[float]] = {}
    firsts: dict[float, list[float]] = {}
    offers: dict[float, list[float]] = {}
    for count in tools:
        with open_home_with_tools(count) as servers:
            session.tell(f"{count:,} tools")
            starts[count] = [time_start(servers) for _ in range(min(session.rounds, MOST_STARTS))]
            first, later, tokens = _search(servers, session.rounds)
            firsts[count], searches[count], offers[count] = [first], later, [tokens]
    yield _draw("Start with many tools", "ms to the first answered run", {"onetool serve": starts})
    yield _draw("Search among many tools", "ms", {"ot.help": searches, "the first of a server": firsts})
    yield _draw("What a model is offered", "tokens of tools/list", {"all of tools/list": offers})


def _draw(title: str, y: str, samples: dict[str, Samples]) -> Curve:
    series = tuple(make_series(name, measured) for name, measured in samples.items())
    return Curve(title, "tools", y, series, about=" ".join(map(describe_growth, series)))


def _search(servers: Servers, rounds: int) -> tuple[float, list[float], float]:
    """The first search, the usual one of each round, both in milliseconds and less a run of nothing, and the offer."""
    chance = random.Random(1)
    with servers.start_ours() as ours:
        warm_up(ours, RUN)
        nothing = median(ours.call(*RUN) for _ in range(QUERIES))

        def search() -> float:
            query = invent_text(chance, _WORDS)
            return max(ours.call(*run(f"len(ot.help(query={query!r}))")) - nothing, 0) * 1e3

        first = search()
        later = [median(search() for _ in range(QUERIES)) for _ in range(rounds)]
        offered = ours.request("tools/list", {})["tools"]
    return first, later, count_tokens(json.dumps(offered, ensure_ascii=False))
