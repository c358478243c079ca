"""The limits of one person, on runs, on calls, and on the cost of models."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.config.team import LimitSettings
from ot.errors import CallLimitError, LimitReachedError, ModelRefusedError, StoreGoneError
from ot.store.quotas import CALLS, COST, DAY, Asked, Given, Quotas

_SHARE = 10  # of the calls of a minute that are taken from the store at once, so that it is not asked for each
_MOST_AT_ONCE = 20
# A person who has reached their limit must still be able to wait for a run, and to end one. Arguments that would be
# computed are not among this: that could be a run like any other.
_ATTENDS_RUNS = re.compile(r"\s*ot\.(?:wait|stop|runs)\([\w\s\"'.,=]*\)\s*")


@dataclass(eq=False, slots=True)
class PersonLimits:
    """The limits of one person; their runs in all replicas count together."""

    _principal: str
    _settings: LimitSettings
    _quotas: Quotas
    clock: Callable[[], float] = time.monotonic
    _calls: int = 0  # taken, and not yet made
    _calls_until: float = 0.0  # the end of the minute they are for, by our clock

    @asynccontextmanager
    async def run(self, run: str, *, attends_runs: bool = False) -> AsyncIterator[None]:
        """Count a run for as long as it goes on; raises LimitReachedError or StoreGoneError."""
        settings = self._settings
        running = None if attends_runs else settings.concurrent_runs
        if settings.runs_per_minute is None and running is None:
            yield
            return
        asked = Asked(settings.runs_per_minute, running, settings.calls_per_minute, _at_once(settings))
        try:
            given = await self._quotas.begin_run(self._principal, run, asked)
        except OSError as error:
            raise StoreGoneError(error.strerror or str(error)) from error
        if given.refused:
            raise LimitReachedError(f"limits.{given.refused}", getattr(settings, given.refused), given.free_in)
        self._take(given)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True), suppress(OSError):
                await self._quotas.end_run(self._principal, run)  # or its room is free when nobody renews it

    @property
    def calls_per_minute(self) -> int | None:
        return self._settings.calls_per_minute

    async def call(self, tool: str) -> None:
        """Count a call of a tool that is about to be made; raises CallLimitError."""
        most = self._settings.calls_per_minute
        if most is None:
            return
        if self._calls and self.clock() < self._calls_until:
            self._calls -= 1
            return
        try:
            given = await self._quotas.take_calls(self._principal, most, _at_once(self._settings))
        except OSError as error:
            problem = error.strerror or str(error)
            raise CallLimitError(tool, f"limits.{CALLS}", most, 0.0, problem) from error
        if given.refused:
            raise CallLimitError(tool, f"limits.{CALLS}", most, given.free_in)
        self._take(given)
        self._calls -= 1

    async def ask_model(self, provider: str) -> None:
        """Check the limit before a request to a model; raises ModelRefusedError."""
        most = self._settings.model_cost_per_day
        if most is None:
            return
        try:
            spent = await self._quotas.model_cost(self._principal)
        except OSError as error:
            reason = f"today's costs cannot be looked up: {error.strerror or error}"
            raise ModelRefusedError(provider, reason) from error
        if spent >= most:
            limit = f"you have spent ${spent:.2f} on models today, and the limit is ${most:g} per day (limits.{COST})"
            left = max(1, round(DAY - time.time() % DAY))
            wait = f"{left} s" if left < 120 else f"{left // 60} min" if left < 7200 else f"{left // 3600} h"
            raise ModelRefusedError(provider, f"{limit}; it resets in {wait}")

    def add_model_cost(self, cost: float) -> None:
        if self._settings.model_cost_per_day is not None:
            self._quotas.add_model_cost(self._principal, cost)

    def _take(self, given: Given) -> None:
        now = self.clock()
        left = self._calls if now < self._calls_until else 0
        self._calls, self._calls_until = left + given.calls, now + given.free_in


def attends_runs(command: str) -> bool:
    return _ATTENDS_RUNS.fullmatch(command) is not None


def _at_once(settings: LimitSettings) -> int:
    return max(1, min(_MOST_AT_ONCE, (settings.calls_per_minute or 0) // _SHARE))
