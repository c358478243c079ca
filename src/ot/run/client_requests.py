"""Requests of a detached run to a client, such as a question to its person: whichever client comes answers them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

import anyio

from mcp_core.json_types import Json, JsonObject
from ot.clients.caller import Caller

HOLD = 600.0  # seconds that a request waits for a client

Result_co = TypeVar("Result_co", covariant=True)


class NobodyCameError(Exception):
    """No client that can do it has come in time."""


class ClientRequest(Generic[Result_co]):
    """One request: the run awaits `done_by_someone`; clients `do` it, one at a time, or give it back."""

    def __init__(
        self, what: str, able: Callable[[Caller], bool], work: Callable[[Caller], Awaitable[Result_co]], *, hold: float
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


_LONGEST_KEY = 200  # characters
_OURS = "question-"  # keys of our own begin with it, and no others


class Questions:
    """The open questions of one run, each under a key. `on_asked` hears of each that is put."""

    def __init__(self) -> None:
        self.on_asked: Callable[[], object] = lambda: None
        self._open: dict[str, tuple[JsonObject, asyncio.Future[JsonObject]]] = {}  # each with the future of its answer
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def contents(self) -> dict[str, JsonObject]:
        """The questions by their keys, each a method and its parameters."""
        return {key: content for key, (content, _) in self._open.items()}

    async def ask(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        """Put a question, and wait for the answer, whichever request brings it.

        It has the asker's key, or one of ours where that is none, too long, taken, or could pass for one of ours:
        whoever could take our next key would have the client's answer to them count as the answer to our question.
        """
        self._count += 1
        if not 0 < len(key) <= _LONGEST_KEY or key in self._open or key.startswith(_OURS):
            key = f"{_OURS}{self._count}"
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._open[key] = {"method": method, "params": dict(params)}, answer
        self.on_asked()
        try:
            return await answer
        finally:
            self._open.pop(key, None)

    def answer(self, words: Mapping[str, JsonObject]) -> None:
        """Pass the answers on; a question without one stays open."""
        for key in self._open.keys() & words.keys():
            _, answer = self._open.pop(key)
            if not answer.done():
                answer.set_result(words[key])
