"""Rate limits of the keys of services, so that calls that run side by side wait for each other."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable

import anyio
import anyio.lowlevel

from mcp_core.backoff import wait_after
from mcp_core.quick_dataclass import dataclass

_FIRST_PAUSE = 0.5  # seconds, if a service says that it is too much, and not for how long
_LONGEST_PAUSE = 30.0
_LONGEST_HOLD = 60.0  # that a service may ask for; a person who buys more does not restart anything


class QueueTooLongError(Exception):
    """So many calls wait for the same key that this one would not get its turn in time."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"{wait:.3g} s")
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Turn:
    """The permission to send one request; `number` says after which refusal it was given, `place` when it was asked."""

    number: int
    place: int


@dataclass(slots=True)
class _Waiting:
    place: int
    is_first: anyio.Event

    def __lt__(self, other: _Waiting) -> bool:
        return self.place < other.place


class RateLimit:
    """The queue of one key: requests begin one after the other, in the order in which they came.

    A request that was refused keeps its place: behind others, each of which is refused in its turn, the pauses would
    grow and grow, although each would succeed if it were made again.
    """

    def __init__(self, *, chance: Callable[[], float] = random.random) -> None:
        self._next = -math.inf  # when the next request may begin
        self._queue: list[_Waiting] = []  # a heap
        self._places = itertools.count(1)
        self._refusals = 0  # in a row
        self._number = 0
        self._chance = chance

    async def take_turn(self, interval: float, *, within: float, refused: Turn | None = None) -> Turn:
        """Wait until a request may begin, `interval` seconds after the one before; a `refused` one goes first.

        Raises QueueTooLongError, before it waits, if that is certain to take longer than `within` seconds.
        """
        place = next(self._places) if refused is None or not refused.place else refused.place
        mine = _Waiting(place, anyio.Event())
        before = sum(other < mine for other in self._queue)
        expected = max(self._next - anyio.current_time(), 0) + before * interval
        if expected > within:
            raise QueueTooLongError(expected)
        heapq.heappush(self._queue, mine)
        try:
            await anyio.lowlevel.checkpoint()
            while self._queue[0] is not mine or anyio.current_time() < self._next:
                if self._queue[0] is mine:
                    await anyio.sleep_until(self._next)  # which may be put off meanwhile
                else:
                    await mine.is_first.wait()
                    mine.is_first = anyio.Event()
            self._next = anyio.current_time() + interval
            return Turn(self._number, place)
        finally:
            self._queue.remove(mine)
            heapq.heapify(self._queue)
            if self._queue:
                self._queue[0].is_first.set()

    def put_off(self, turn: Turn, asked: float | None) -> float:
        """Hold all requests, since one was too much; returns for how many seconds.

        `asked` is what the service asks for. Where it asks for nothing the pauses grow, once for all requests that were
        under way together.
        """
        if turn.number == self._number:
            self._number += 1
            self._refusals += 1
        pause = wait_after(self._refusals, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=0.25, chance=self._chance)
        wait = pause if asked is None else asked
        now = anyio.current_time()
        self._next = max(self._next, now + min(wait, _LONGEST_HOLD))
        return max(wait, self._next - now)

    def go_on(self) -> None:
        self._refusals = 0


class RateLimits:
    """The rate limit of every key that was used; lent to packs."""

    def __init__(self) -> None:
        self._paces: dict[tuple[str, str], RateLimit] = {}

    def known(self, service: str, key: str) -> RateLimit | None:
        return self._paces.get((service, key))

    def pace_of(self, service: str, key: str) -> RateLimit:
        return self._paces.setdefault((service, key), RateLimit())
