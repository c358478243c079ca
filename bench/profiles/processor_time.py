"""The processor time of a run by process: server, zygote, kernel and client, from the system's own accounts."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from bench.http_client import HttpClient
from bench.process_tree import Account, find_zygote, read_accounts
from bench.profiles.table import Table
from bench.servers import ECHO, RUN, Call, Servers, open_servers, run
from bench.stdio_client import StdioClient

ROUNDS = 3
RUNS = 300  # a round, so that hundredths of a second are little of it
IN_FLIGHT = (1, 16)
TEN_CALLS = run("for _ in range(10):\n    demo.foo()")
_AT_REST = 0.2  # seconds after which used kernels are reaped and new ones warm

COLUMNS = (
    "run",
    "in flight",
    "server",
    "zygote",
    "kernel",
    "client",
    "all",
    "runs/s",
    "zygote faults",
    "kernel faults",
)
_NOTE = "µs of processor time a run; faults are page faults a run. A kernel's time includes its birth and its end."
_NOTHING = Account(0, 0)


class Accounts(NamedTuple):
    """What the processes of one server, and its client, have taken until now."""

    server: Account
    zygote: Account
    kernels: Account
    client: Account

    def since(self, before: Accounts) -> Accounts:
        return Accounts(*(mine.since(earlier) for mine, earlier in zip(self, before, strict=True)))


@dataclass(frozen=True, slots=True)
class Subject:
    """A server that runs, and what is asked of it."""

    what: str
    client: StdioClient | HttpClient
    call: Call
    in_flight: int
    zygote: int | None

    def read(self) -> Accounts:
        time.sleep(_AT_REST)
        zygote, kernels = (_NOTHING, _NOTHING) if self.zygote is None else read_accounts(self.zygote)
        own = resource.getrusage(resource.RUSAGE_SELF)
        client = Account(own.ru_utime + own.ru_stime, own.ru_minflt)
        return Accounts(read_accounts(self.client.pid)[0], zygote, kernels, client)

    def measure(self, runs: int) -> tuple[Accounts, float]:
        """Return what this many runs took, and how many of them there were a second."""
        before = self.read()
        seconds = self.client.call_many(*self.call, count=runs, in_flight=self.in_flight)
        return self.read().since(before), runs / seconds


def profile_processor_time(
    *, rounds: int = ROUNDS, runs: int = RUNS, in_flight: tuple[int, ...] = IN_FLIGHT
) -> Iterator[Table]:
    """Measure all subjects in turns, and report the medians of the rounds."""
    with open_servers() as servers, _open_subjects(servers, in_flight) as subjects:
        measured = [[subject.measure(runs) for subject in subjects] for _ in range(rounds)]
    rows = []
    for subject, of_rounds in zip(subjects, zip(*measured, strict=True), strict=True):
        taken = [median(accounts[place].seconds for accounts, _ in of_rounds) / runs * 1e6 for place in range(4)]
        faults = [median(accounts[place].page_faults for accounts, _ in of_rounds) / runs for place in (1, 2)]
        rate = median(rate for _, rate in of_rounds)
        rows.append((subject.what, subject.in_flight, *map(round, taken), round(sum(taken)), rate, *faults))
    yield Table("processor time of a run, by process", COLUMNS, rows, _NOTE)


@contextmanager
def _open_subjects(servers: Servers, in_flight: tuple[int, ...]) -> Iterator[list[Subject]]:
    servers.enable_demo()
    with servers.open_pair() as (stdio, bare), servers.start_ours_over_http() as http:
        http.call_many(*RUN, count=20, in_flight=1)
        ours, over_http = find_zygote(stdio.pid), find_zygote(http.pid)
        yield [
            subject
            for count in in_flight
            for subject in (
                Subject("1+1 over stdio", stdio, RUN, count, ours),
                Subject("1+1 over HTTP", http, RUN, count, over_http),
                Subject("ten calls over stdio", stdio, TEN_CALLS, count, ours),
                Subject("echo of the bare server", bare, ECHO, count, None),
            )
        ]
