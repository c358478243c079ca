"""Quotas: the usage of each person, counted in the store for all replicas together.

Minutes, hours and days are those of the clock (UTC): the counts start again at zero when the next one begins.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

import anyio.to_thread

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import hold
from mcp_core.quick_dataclass import dataclass
from ot.store.forms import FORM, check_form, read_mapping, read_number

RUNS, RUNNING, CALLS, COST = "runs_per_minute", "concurrent_runs", "calls_per_minute", "model_cost_per_day"
"""The keys of `limits` that are counted here."""

COSTS_FILE = "model-costs.json"
CALLS_FILE = "calls-per-hour.json"
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_PATIENCE = 2.0  # seconds for another process that counts
_FORM = 1


class Asked(NamedTuple):
    """The request of a run that is about to begin; a few calls are counted in advance, so that they need not ask."""

    most_runs: int | None  # None: no limit
    most_running: int | None
    most_calls: int | None
    calls: int


class Given(NamedTuple):
    """The answer: `refused` names the limit that was reached, if any; it resets in `free_in` seconds."""

    refused: str
    calls: int
    free_in: float


class CallCounts(Protocol):
    """The calls of each person that a rule limits. Raises OSError where the store cannot be used."""

    async def count_call(self, principal: str, rule: str, calls: int = 1) -> int: ...


class Quotas(CallCounts, Protocol):
    """The counts of everybody. Raises OSError where the store cannot be used."""

    async def begin_run(self, principal: str, run: str, asked: Asked) -> Given: ...
    async def end_run(self, principal: str, run: str) -> None: ...
    async def take_calls(self, principal: str, most: int, wanted: int) -> Given: ...
    async def model_cost(self, principal: str) -> float: ...
    def add_model_cost(self, principal: str, cost: float) -> None: ...


@dataclass(slots=True)
class _Used:
    minute: int = 0
    runs: int = 0
    calls: int = 0
    running: set[str] = field(default_factory=set)


class EmbeddedQuotas:
    """The counts of one process: those of a minute in its memory, the costs of a day in a small file.

    The calls of an hour are in a file too, which the processes of a person share.
    """

    def __init__(self, state: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = state / COSTS_FILE
        self._calls_file = state / CALLS_FILE
        self._clock = clock
        self._used: dict[str, _Used] = {}
        self._costs: tuple[int, dict[str, float]] | None = None

    async def begin_run(self, principal: str, run: str, asked: Asked) -> Given:
        """Count a run, unless a limit is reached."""
        used, free_in = self._now_used(principal)
        if asked.most_runs is not None and used.runs >= asked.most_runs:
            return Given(RUNS, 0, free_in)
        if asked.most_running is not None and len(used.running) >= asked.most_running:
            return Given(RUNNING, 0, 0.0)
        used.runs += 1
        if asked.most_running is not None:
            used.running.add(run)
        calls = 0 if asked.most_calls is None else _take(used, asked.most_calls, asked.calls)
        return Given("", calls, free_in)

    async def end_run(self, principal: str, run: str) -> None:
        self._used[principal].running.discard(run)

    async def take_calls(self, principal: str, most: int, wanted: int) -> Given:
        """Reserve some more calls for a person, unless a limit is reached."""
        used, free_in = self._now_used(principal)
        calls = _take(used, most, wanted)
        return Given("" if calls else CALLS, calls, free_in)

    async def count_call(self, principal: str, rule: str, calls: int = 1) -> int:
        """Count a call that a rule limits, or none, and return how many there were this hour, with this one."""
        key = f"{principal} {sha256(rule.encode()).hexdigest()}"
        return await anyio.to_thread.run_sync(self._count_call, key, calls)

    def _count_call(self, key: str, calls: int) -> int:
        with hold(self._calls_file.with_suffix(".lock"), patience=_PATIENCE):
            hour, counts = math.floor(self._clock() / HOUR), dict[str, int]()
            with suppress(FileNotFoundError, ValueError, LookupError, TypeError, RecursionError):
                found = check_form(json.loads(self._calls_file.read_bytes()), _FORM)
                if found["hour"] == hour:
                    counts = {name: int(read_number(count)) for name, count in read_mapping(found["counts"]).items()}
            counts[key] = counts.get(key, 0) + calls
            write_private(self._calls_file, json.dumps({FORM: _FORM, "hour": hour, "counts": counts}))
            return counts[key]

    async def model_cost(self, principal: str) -> float:
        """Return the cost of models for a person today, in US dollars."""
        return self._todays()[1].get(principal, 0.0)

    def add_model_cost(self, principal: str, cost: float) -> None:
        day, costs = self._todays()
        costs[principal] = costs.get(principal, 0.0) + cost
        write_private(self._file, json.dumps({FORM: _FORM, "day": day, "costs": costs}))

    def _now_used(self, principal: str) -> tuple[_Used, float]:
        minute, seconds = divmod(self._clock(), MINUTE)
        used = self._used.setdefault(principal, _Used())
        if used.minute != int(minute):
            used.minute, used.runs, used.calls = int(minute), 0, 0
        return used, MINUTE - seconds

    def _todays(self) -> tuple[int, dict[str, float]]:
        today = math.floor(self._clock() / DAY)
        if self._costs is None:
            self._costs = 0, {}
            # Otherwise there is no file, or it was not written by us.
            with suppress(FileNotFoundError, ValueError, LookupError, TypeError, RecursionError):
                found = check_form(json.loads(self._file.read_bytes()), _FORM)
                costs = {name: float(read_number(cost)) for name, cost in read_mapping(found["costs"]).items()}
                self._costs = int(read_number(found["day"])), costs
        if self._costs[0] != today:
            self._costs = today, {}
        return self._costs


def _take(used: _Used, most: int, wanted: int) -> int:
    calls = min(wanted, max(0, most - used.calls))
    used.calls += calls
    return calls
