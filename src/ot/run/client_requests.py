"""Requests of a detached run to a client, such as a question to its person: whichever client comes answers them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

from ot.clients.caller import Caller

HOLD = 600.0  # seconds that a request waits for a client

Result_co = TypeVar("Result_co", covariant=True)


class NobodyCameError(Exception):
    """No client that can do it has come in time."""


class ClientRequest(Generic[Result_co]):
    """One request: the run awaits `done_by_someone`; clients `do` it, one at a time, or give it back."""

    def __init__(
        self,
        what: str,
        able: Callable[[Caller], bool],
        work: Callable[[Caller], Awaitable[Result_co]],
        *,
        hold: float,
    ) -> None:
        self.what = what
        self._able = able
        self._work = work
        self._hold = hold
        self._outcome: list[Result_co] | Exception | None = None
        self._done = anyio.Event()
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + hold)
        self._doing: anyio.CancelScope | None = None

    def is_for(self, caller: Caller) -> bool:
        """True if nobody does it, and this client could."""
        return self._doing is None and not self._done.is_set() and self._able(caller)

    async def done_by_someone(self) -> Result_co:
        """Wait for the outcome; raises NobodyCameError, and what the client's work raised."""
        try:
            with self._scope:
                await self._done.wait()
        finally:
            if self._doing is not None:
                self._doing.cancel()  # nobody needs the answer any more
        if isinstance(self._outcome, Exception):
            raise self._outcome
        if self._outcome is None:
            raise NobodyCameError
        return self._outcome[0]

    async def do(self, caller: Caller) -> None:
        """Do it for the run with the means of a client. What goes wrong belongs to the run."""
        self._scope.deadline = math.inf
        try:
            with anyio.CancelScope() as self._doing:
                try:
                    self._outcome = [await self._work(caller)]
                except Exception as error:  # noqa: BLE001 - raised again in the run
                    self._outcome = error
                self._done.set()
        finally:
            self._doing = None
            self._scope.deadline = anyio.current_time() + self._hold
