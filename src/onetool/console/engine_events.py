"""Events of an engine that runs on a thread of its own, so that the main thread can wait for a person.

A prompt with history and editing blocks its thread, and Ctrl-C reaches the main thread only. So the engine and its
event loop run on another thread, and everything that happens there comes through a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from anyio.from_thread import BlockingPortal

from ot.clients.caller import Choice, Word

MOMENT = 0.1  # seconds

E = TypeVar("E")
"""An event while the engine works."""


class ExitRequested(Exception):  # noqa: N818 - a request, not an error
    """The person wants to leave."""


class Question(NamedTuple):
    """A request for consent to a call; `answer` must be called, from any thread."""

    text: str
    choices: Sequence[Choice]
    answer: Callable[[Word], None]


@dataclass(frozen=True, slots=True)
class _End:
    """This work is over."""


class EngineEvents(Generic[E]):
    """Carries events and questions from the engine's thread to the main thread, one question at a time."""

    def __init__(self) -> None:
        self._happenings: SimpleQueue[E | Question | _End] = SimpleQueue()
        self._one_at_a_time = asyncio.Lock()

    def follow(
        self, portal: BlockingPortal, work: Callable[[Callable[[E], None]], Awaitable[None]]
    ) -> Generator[E | Question | None]:
        """Yield events while the engine works; closing this generator, or a KeyboardInterrupt in it, stops the work.

        Yields None at regular intervals while nothing happens. Raises what the work raises.
        """
        happenings = self._happenings = SimpleQueue()

        async def carry_out() -> None:
            try:
                await work(happenings.put)
            finally:
                happenings.put(_End())

        future = portal.start_task_soon(carry_out)
        try:
            while not isinstance(item := _next(happenings), _End):
                yield item
        except (KeyboardInterrupt, GeneratorExit):
            future.cancel()
            last: E | Question | _End | None = None
            while not isinstance(last, _End):  # pressing Ctrl-C again does not make that faster
                with suppress(KeyboardInterrupt):
                    last = _next(happenings)
                if isinstance(last, Question):
                    last.answer(None)
            raise
        future.result()

    async def ask(self, text: str, choices: Sequence[Choice]) -> Word:
        async with self._one_at_a_time:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Word] = loop.create_future()

            def settle(choice: Word) -> None:
                if not future.done():
                    future.set_result(choice)

            def answer(choice: Word) -> None:
                loop.call_soon_threadsafe(settle, choice)

            self._happenings.put(Question(text, choices, answer))
            return await future


def _next(happenings: SimpleQueue[E | Question | _End]) -> E | Question | _End | None:
    """Return the next event, or None after a moment: a Ctrl-C just before a wait begins is noticed only after it."""
    try:
        return happenings.get(timeout=MOMENT)
    except Empty:
        return None
