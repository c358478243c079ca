"""The path of a run, and of a proxied call, through our own code: how many functions, files, and moves between files.

Counted in the server, on its main thread, once everything is loaded: every call of a function under `src`, from the one
of `Runs` that a command reaches to the last one in `ot/run`, by which the answer is delivered and the run recorded.
Resuming a coroutine is no call. A move is a call in another file than the call before. Whatever else happens meanwhile
counts too, such as lines that are written for an earlier run; so the shortest of several runs is given.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.profiles.imports import ROOT
from bench.profiles.table import Cell, Table
from bench.servers import RUN, Call, Servers, open_servers, run, warm_up
from bench.stdio_client import StdioClient

ROUNDS = 9
CALLS = 5  # more, of which one is the fifth part
_ENVIRONMENT = {"PYTHONPATH": f"{ROOT}:{ROOT}/src"}
_BARE_SERVER = ROOT / "bench" / "bare_server.py"
_QUIET = 0.05  # seconds in which what an earlier run has left to do is done
_RUN_FOLDER = "ot/run/"


class Step(NamedTuple):
    """One call: a file under `src`, and a function."""

    file: str
    function: str


def profile_paths(*, rounds: int = ROUNDS) -> Iterator[Table]:
    with open_servers(_ENVIRONMENT) as servers:
        path = _shortest(servers, RUN, rounds)
    more = f"servers: {{bare: {{command: {sys.executable}, args: [{_BARE_SERVER}]}}}}\n"
    with open_servers(_ENVIRONMENT) as servers:
        servers.enable_demo(more=more)
        few, many = (_shortest(servers, _proxied(count), rounds) for count in (1, 1 + CALLS))
    call = [(there - here) / CALLS for here, there in zip(_count(few), _count(many), strict=True)]
    rows: list[Sequence[Cell]] = [("a run of 1+1", *_count(path)), ("one more proxied call", call[0], "", call[2])]
    yield Table("paths through our own code", ("path", "functions called", "files", "moves"), rows)
    yield Table("a run of 1+1: calls by file", ("file", "calls"), Counter(step.file for step in path).most_common())
    added = Counter(step.file for step in many)
    added.subtract(Counter(step.file for step in few))
    by_file = [(file, round(count / CALLS, 1)) for file, count in added.most_common() if count >= CALLS]
    yield Table("one more proxied call: calls by file", ("file", "calls"), by_file)


def _proxied(count: int) -> Call:
    return run(f"for _ in range({count}):\n    bare.echo(text='2')")


def _count(path: list[Step]) -> tuple[int, int, int]:
    moves = sum(before.file != after.file for before, after in pairwise(path))
    return len(path), len({step.file for step in path}), moves


def _shortest(servers: Servers, call: Call, rounds: int) -> list[Step]:
    file = servers.folder / "steps"
    with servers.start("-m", "bench.profiles.traced_server", str(file), "serve") as server:
        warm_up(server, call)
        return min((_trace(server, file, call) for _ in range(rounds)), key=len)


def _trace(server: StdioClient, file: Path, call: Call) -> list[Step]:
    time.sleep(_QUIET)
    os.kill(server.pid, signal.SIGUSR1)
    server.call(*call)
    time.sleep(_QUIET)
    os.kill(server.pid, signal.SIGUSR2)
    while not file.exists():
        time.sleep(0.01)
    steps = [Step(*line.split("\t")) for line in file.read_text(encoding="utf-8").splitlines()]
    file.unlink()
    last = max(place for place, step in enumerate(steps) if step.file.startswith(_RUN_FOLDER))
    return steps[: last + 1]
