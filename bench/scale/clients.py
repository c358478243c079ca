"""1,000 clients over HTTP, one after another: each connects, has something run, and leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

from bench.figures import Curve, Session
from bench.http_client import HttpClient
from bench.process_tree import proportional_set_size
from bench.scale.growth import describe_growth, make_series
from bench.servers import RUN, open_servers

CLIENTS = (10, 100, 250, 500, 1_000)
KINDS = {"with sessions": True, "without sessions": False}
_AT_REST = 1.0  # seconds after which warm kernels are replaced


def measure(session: Session, *, clients: tuple[int, ...] = CLIENTS) -> Iterator[Curve]:
    times: dict[str, dict[float, list[float]]] = {kind: {} for kind in KINDS}
    memory: dict[str, dict[float, list[float]]] = {kind: {} for kind in KINDS}
    for kind, sessions in KINDS.items():
        with open_servers() as servers, servers.start_ours_over_http() as ours:
            for before, now in pairwise((0, *clients)):
                session.tell(f"clients over HTTP, {kind}: {now:,}")
                times[kind][now] = [ours.visit(*RUN, session=sessions) * 1e3 for _ in range(before, now)]
                memory[kind][now] = [_rest_and_weigh(ours)]
    for title, y, samples in (
        ("Clients over HTTP, one after another: time", "ms of a client's visit", times),
        ("Clients over HTTP, one after another: memory", "MB (PSS)", memory),
    ):
        series = tuple(make_series(kind, samples[kind]) for kind in KINDS)
        yield Curve(title, "clients until then", y, series, about=" ".join(map(describe_growth, series)))


def _rest_and_weigh(server: HttpClient) -> float:
    time.sleep(_AT_REST)
    return proportional_set_size(server.pid) / 1e6
