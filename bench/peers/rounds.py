"""Rounds: everybody does all the work once, in an order that changes, and the machine is measured in between."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from statistics import median

from bench.drift import Drift
from bench.figures import Figure, Row, Session
from bench.peers.contestants import Client, Contestant, Request
from bench.process_tree import proportional_set_size
from bench.stdio_client import CallFailedError, StdioClient
from tests.tokens import count_tokens

INITIALIZE, FIRST = "start to answered initialize", "start to first answered run"
PACED, BACK_TO_BACK = "trivial run, 10 ms apart", "trivial run, back to back"
TEN, THOUSAND = "ten calls of a tool", "a thousand calls of a tool"
WORKER = "a thousand calls of a tool in a process of its own"
SIXTEEN = "trivial runs, sixteen at once"
LARGE = "a result of 10 MB"
IDLE = "memory when idle"
DEFINITIONS, INSTRUCTIONS = "tokens of the definitions", "tokens of the server's instructions"
# Rows with their units, and which end is better, in the order of the table.
ROWS = {
    INITIALIZE: ("ms", "lower"),
    FIRST: ("ms", "lower"),
    PACED: ("ms", "lower"),
    BACK_TO_BACK: ("ms", "lower"),
    TEN: ("ms", "lower"),
    THOUSAND: ("ms", "lower"),
    WORKER: ("ms", "lower"),
    SIXTEEN: ("/s", "higher"),
    LARGE: ("ms", "lower"),
    IDLE: ("MB", "lower"),
    DEFINITIONS: ("tokens", "lower"),
    INSTRUCTIONS: ("tokens", "lower"),
}

_WARM_UP = 20
_BATCH = 25
_IN_FLIGHT, _AT_ONCE = 16, 160
_REPEATS = 5
_SLOW = 1.0  # seconds for a trivial run, above which a contestant makes single runs only
_ROUNDS_OF_SLOW = 1
_SETTLING = 1.0
_LONGEST_TURN = 180  # seconds, after which a contestant that hangs is ended


@dataclass(slots=True)
class Measured:
    """What one contestant has shown so far: values by row, and notes where there is something to say."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def slow(self) -> bool:
        """Whether a single run takes so long that many of them say nothing more."""
        return not self.values[BACK_TO_BACK] or min(self.values[BACK_TO_BACK]) > _SLOW * 1e3

    def figure(self, row: str) -> Figure:
        return Figure(tuple(self.values.get(row, ())), self.notes.get(row, ""))


def measure_rounds(contestants: list[Contestant], session: Session, drift: Drift) -> dict[str, Measured]:
    """Let everybody take a turn in every round; whoever fails in one is noted and tried again in the next."""
    measured = {contestant.name: Measured() for contestant in contestants}
    for contestant in contestants:
        session.tell(f"a first start that does not count: {contestant.name}")
        with suppress(Exception):  # the rounds say what is wrong with it
            _start_once(contestant)
    for number in range(session.rounds):
        shift = number % len(contestants)
        drift.take()
        for contestant in contestants[shift:] + contestants[:shift]:
            session.tell(f"round {number + 1} of {session.rounds}: {contestant.name}")
            kept = measured[contestant.name]
            if number >= _ROUNDS_OF_SLOW and kept.slow:
                kept.notes[BACK_TO_BACK] = "measured once"
                continue
            try:
                _take_turn(contestant, kept)
            except Exception as error:  # noqa: BLE001 - what a peer does wrong ends its turn and nothing else
                kept.notes[FIRST] = f"failed in round {number + 1}: {_first_line(error)}"
    return measured


def _start_once(contestant: Contestant) -> None:
    """Read from the disk, and write to caches, what later starts find in memory."""
    with started(contestant) as client:
        client.initialize()
        client.call(*contestant.trivial)


def build_rows(measured: dict[str, Measured]) -> tuple[Row, ...]:
    return tuple(
        Row(
            name,
            unit,
            tuple(one.figure(name) for one in measured.values()),
            "higher" if better == "higher" else "lower",
        )
        for name, (unit, better) in ROWS.items()
    )


@contextmanager
def started(contestant: Contestant, *, limit: float = _LONGEST_TURN) -> Iterator[Client]:
    """Start a contestant; whatever it does, its process ends after so many seconds, and its client sees that."""
    with contestant.start() as client:
        watchdog = threading.Timer(limit, client.kill) if isinstance(client, StdioClient) else None
        if watchdog:
            watchdog.daemon = True
            watchdog.start()
        try:
            yield client
        finally:
            if watchdog:
                watchdog.cancel()


def _take_turn(contestant: Contestant, kept: Measured) -> None:
    begin = time.perf_counter()
    with started(contestant) as client:
        greeting = client.initialize()
        kept.values[INITIALIZE].append((time.perf_counter() - begin) * 1e3)
        answer = client.answer(*contestant.trivial)
        kept.values[FIRST].append((time.perf_counter() - begin) * 1e3)
        if "2" not in answer:
            raise CallFailedError(f"a wrong answer: {answer[:100]}")
        _count_tokens(client, greeting, kept)
        _measure_memory(client, kept)
        _measure_runs(client, contestant, kept)


def _measure_runs(client: Client, contestant: Contestant, kept: Measured) -> None:
    once = client.call(*contestant.trivial)
    if once > _SLOW:
        kept.values[BACK_TO_BACK].append(once * 1e3)
        for row in (PACED, SIXTEEN):
            kept.notes[row] = f"not measured: one run takes {once:.1f} s"
        for row in (TEN, THOUSAND, WORKER):
            kept.notes[row] = "has no tools to call"
        kept.notes[LARGE] = "not measured"
        return
    client.call_many(*contestant.trivial, count=_WARM_UP, in_flight=1)
    kept.values[PACED].append(_apart(client, contestant.trivial))
    kept.values[BACK_TO_BACK].append(client.call_many(*contestant.trivial, count=_BATCH, in_flight=1) / _BATCH * 1e3)
    for row, count, tool in (
        (TEN, 10, contestant.tool),
        (THOUSAND, 1000, contestant.tool),
        (WORKER, 1000, contestant.worker),
    ):
        _measure_calls(client, contestant, kept, (row, count, tool))
    seconds = client.call_many(*contestant.trivial, count=_AT_ONCE, in_flight=_IN_FLIGHT)
    kept.values[SIXTEEN].append(_AT_ONCE / seconds)
    _measure_large(client, contestant, kept)


def _measure_calls(client: Client, contestant: Contestant, kept: Measured, wanted: tuple[str, int, str | None]) -> None:
    row, count, tool = wanted
    work = contestant.calls(count, tool)
    if work is None:
        kept.notes[row] = "has no such tools"
        return
    call, requests = work
    answer = client.answer(*call)
    if "A" not in answer and "2" not in answer:
        kept.notes[row] = f"a wrong answer: {answer[:100]}"
        return
    repeats = _REPEATS if count <= 10 else 1
    times = [client.call_many(*call, count=requests, in_flight=1) for _ in range(repeats)]
    kept.values[row].append(median(times) * 1e3)


def _measure_large(client: Client, contestant: Contestant, kept: Measured) -> None:
    start = time.perf_counter()
    try:
        text = client.answer(*contestant.large)
    except CallFailedError as error:
        kept.notes[LARGE] = f"refused: {_first_line(error)}"
        return
    kept.values[LARGE].append((time.perf_counter() - start) * 1e3)
    characters = text.count("x")
    whole = characters >= 10_000_000
    kept.notes[LARGE] = "answered whole" if whole else f"stored, {len(text):,} characters answered"


def _measure_memory(client: Client, kept: Measured) -> None:
    if not isinstance(client, StdioClient):
        kept.notes[IDLE] = "the SDK server's"
        return
    time.sleep(_SETTLING)
    kept.values[IDLE].append(proportional_set_size(client.pid) / 1e6)


def _count_tokens(client: Client, greeting: dict[str, object], kept: Measured) -> None:
    tools = client.request("tools/list", {})["tools"]
    offered = [{key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools]
    kept.values[DEFINITIONS] = [count_tokens(json.dumps(offered, separators=(",", ":"), ensure_ascii=False))]
    kept.values[INSTRUCTIONS] = [count_tokens(str(greeting.get("instructions") or ""))]


def _apart(client: Client, call: Request) -> float:
    times = []
    for _ in range(_BATCH):
        time.sleep(0.01)
        times.append(client.call(*call))
    return median(times) * 1e3


def _first_line(error: BaseException) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text[:150]}"
