"""The hot path of the server: which layers and functions the time of a run, and of a call, goes to."""

from __future__ import annotations

import os
import pstats
import signal
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.profiles.imports import ROOT
from bench.profiles.table import Table
from bench.servers import RUN, Call, Servers, open_servers, run, warm_up

RUNS = 2_000
CALLS = 100  # of each run that makes some
MOST_ROWS = 25
IN_FLIGHT = 4
_SOURCE = f"{ROOT}/src/"
_LIBRARIES = f"{sysconfig.get_path('purelib')}/"
_PYTHON = f"{sysconfig.get_path('stdlib')}/"
_BUILT_IN = "~"
_WAITING = "<method 'poll' of 'select.epoll' objects>"
_NOTE = "µs each, by the clock, on the main thread; the profiler makes all of it dearer, small functions most"

Function = tuple[str, int, str]
"""File, line and name, as profiles have them."""


class Cost(NamedTuple):
    """How often a function was called, and its seconds without and with what it called."""

    calls: int
    own: float
    whole: float


class Profile(NamedTuple):
    costs: dict[Function, Cost]
    callers: dict[Function, dict[Function, Cost]]


def profile_hot_path(*, runs: int = RUNS, calls: int = CALLS) -> Iterator[Table]:
    several = run(f"for _ in range({calls}):\n    demo.foo()")
    with open_servers({"PYTHONPATH": str(ROOT)}) as servers:
        servers.enable_demo()
        yield from _report("a run of 1+1", _profile(servers, RUN, runs), runs)
        made = max(runs // calls, 1)
        yield from _report("a call of a plain tool", _profile(servers, several, made), made * calls)


def _profile(servers: Servers, call: Call, count: int) -> Profile:
    file = servers.folder / "profile"
    with servers.start("-m", "bench.profiles.profiled_server", str(file), "serve") as server:
        warm_up(server, call)
        os.kill(server.pid, signal.SIGUSR1)
        server.call_many(*call, count=count, in_flight=min(IN_FLIGHT, count))
        os.kill(server.pid, signal.SIGUSR2)
        while not file.exists():
            time.sleep(0.01)
    profile = _read(file)
    file.unlink()
    return profile


def _read(file: Path) -> Profile:
    costs: dict[Function, Cost] = {}
    callers: dict[Function, dict[Function, Cost]] = {}
    for function, (_, calls, own, whole, by) in vars(pstats.Stats(str(file)))["stats"].items():
        costs[function] = Cost(calls, own, whole)
        callers[function] = {caller: Cost(times, self, total) for caller, (times, _, self, total) in by.items()}
    return Profile(costs, callers)


def _report(what: str, profile: Profile, count: int) -> Iterator[Table]:
    waiting = {function for function in profile.costs if function[2] == _WAITING}
    costs = {function: cost for function, cost in profile.costs.items() if function not in waiting}
    layers = _by_layer(costs, profile.callers)
    all_own = sum(layers.values())
    rows = sorted(((layer, own / count * 1e6, f"{own / all_own:.0%}") for layer, own in layers.items()), key=_cost)
    yield Table(f"{what}: by layer", ("layer", "own µs", "share"), rows[:MOST_ROWS], _NOTE)
    columns = ("function", "calls", "own µs", "with others µs")
    for title, place in (("own time", 1), ("time with others", 2)):
        dearest = sorted(costs.items(), key=lambda item: -item[1][place])[:MOST_ROWS]
        found = [
            (_name(function), cost.calls / count, cost.own / count * 1e6, cost.whole / count * 1e6)
            for function, cost in dearest
        ]
        yield Table(f"{what}: functions by {title}", columns, found)


def _cost(row: tuple[str, float, str]) -> float:
    return -row[1]


def _by_layer(costs: Mapping[Function, Cost], callers: Mapping[Function, Mapping[Function, Cost]]) -> dict[str, float]:
    """Seconds; what is built into the interpreter counts for the layer that calls it."""
    layers: dict[str, float] = defaultdict(float)
    for function, cost in costs.items():
        if function[0] != _BUILT_IN:
            layers[_layer(function)] += cost.own
            continue
        for caller, part in callers[function].items():
            layers[_layer(caller)] += part.own
    return layers


def _layer(function: Function) -> str:
    """`ot.run` for ours, the package for others'."""
    file = function[0]
    if file.startswith(_SOURCE):
        parts = file.removeprefix(_SOURCE).removesuffix(".py").split("/")
        return ".".join(parts[: 2 if len(parts) > 1 else 1])
    if file.startswith(_LIBRARIES):
        return file.removeprefix(_LIBRARIES).partition("/")[0].removesuffix(".py")
    if file.startswith(_PYTHON):
        return f"Python: {file.removeprefix(_PYTHON).partition('/')[0].removesuffix('.py')}"
    return "Python: built in"


def _name(function: Function) -> str:
    file, line, name = function
    if file == _BUILT_IN:
        return name.strip("<>")
    for prefix in (_SOURCE, _LIBRARIES, _PYTHON):
        file = file.removeprefix(prefix)
    return f"{file}:{line} {name}"
