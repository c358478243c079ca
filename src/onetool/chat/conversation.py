"""The assistant on its own thread, so that the main thread can wait for a person.

A prompt with history and editing blocks its thread, and Ctrl-C reaches the main thread only. So the engine and its
event loop live on another one, and everything that happens there comes here through a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from onetool.chat.kept_conversations import KeptConversation
from ot.ai import Event, ToolLoop
from ot.app import open_app, open_assistant
from ot.caller import Caller, Choice
from ot.client_memory import ClientMemory
from ot.config.loader import LoadedConfig
from ot.config.models import AiSettings
from ot.kernel.zygote_process import ZygoteProcess

CLIENT = "onetool chat"
MOMENT = 0.1  # seconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A tool may not be called before a person agrees; `answer` must be called, from any thread."""

    text: str
    choices: Sequence[Choice]
    answer: Callable[[Choice | None], None]


@dataclass(frozen=True, slots=True)
class _End:
    """This answer is over."""


class Conversation:
    """The assistant as the main thread sees it."""

    def __init__(self, portal: BlockingPortal, client: ToolLoop, desk: _Desk) -> None:
        self._portal = portal
        self._client = client
        self._desk = desk

    def reply(self, text: str) -> Generator[Event | Question | None]:
        """Yield what happens while the model answers; closing this, or a KeyboardInterrupt in it, stops the answer.

        None comes in every moment in which nothing happens. It is over when the calls that were being made have ended.
        Raises ModelError.
        """
        happenings = self._desk.open()
        future = self._portal.start_task_soon(self._pump, text, happenings)
        try:
            while not isinstance(item := _next(happenings), _End):
                yield item
        except (KeyboardInterrupt, GeneratorExit):
            future.cancel()
            _wait_for_end(happenings)
            raise
        future.result()

    def see(self, look: Callable[[ToolLoop], T]) -> T:
        """Look at the client, on its own thread."""
        return self._portal.call(look, self._client)

    async def _pump(self, text: str, happenings: SimpleQueue[Event | Question | _End]) -> None:
        try:
            async with aclosing(self._client.reply(text)) as events:
                async for event in events:
                    happenings.put(event)
        finally:
            happenings.put(_End())


def _next(happenings: SimpleQueue[Event | Question | _End]) -> Event | Question | _End | None:
    """Return the next event, or None after a moment: a Ctrl-C just before a wait begins is seen only after it."""
    try:
        return happenings.get(timeout=MOMENT)
    except Empty:
        return None


def _wait_for_end(happenings: SimpleQueue[Event | Question | _End]) -> None:
    """Wait until the calls have stopped; pressing Ctrl-C again does not make that faster."""
    while True:
        try:
            item = _next(happenings)
        except KeyboardInterrupt:
            continue
        if isinstance(item, Question):
            item.answer(None)
        elif isinstance(item, _End):
            return


class _Desk:
    """A place for the engine's thread to leave events and its questions, one at a time."""

    def __init__(self) -> None:
        self._happenings: SimpleQueue[Event | Question | _End] = SimpleQueue()
        self._one_at_a_time = asyncio.Lock()

    def open(self) -> SimpleQueue[Event | Question | _End]:
        """Return a queue for the next answer."""
        self._happenings = SimpleQueue()
        return self._happenings

    async def ask(self, text: str, choices: Sequence[Choice]) -> Choice | None:
        """Ask the person, from the engine's thread."""
        async with self._one_at_a_time:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Choice | None] = loop.create_future()

            def settle(choice: Choice | None) -> None:
                if not future.done():
                    future.set_result(choice)

            def answer(choice: Choice | None) -> None:
                loop.call_soon_threadsafe(settle, choice)

            self._happenings.put(Question(text, choices, answer))
            return await future


@contextmanager
def open_conversation(
    loaded: LoadedConfig, settings: AiSettings, *, launched: ZygoteProcess, may_ask: bool, kept: KeptConversation
) -> Iterator[Conversation]:
    """Start the engine and the client; with `may_ask`, questions come among the events.

    The client knows what was said before, and what is said is `kept`.
    """
    desk = _Desk()
    caller = Caller(ask=desk.ask if may_ask else None, memory=ClientMemory(), client=CLIENT)
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(_open(loaded, settings, launched, caller)) as client,
    ):
        portal.call(client.go_on, kept.earlier, kept)
        yield Conversation(portal, client, desk)


@asynccontextmanager
async def _open(
    loaded: LoadedConfig, settings: AiSettings, launched: ZygoteProcess, caller: Caller
) -> AsyncIterator[ToolLoop]:
    async with (
        open_app(loaded, launched=launched, offer_run=True) as app,
        open_assistant(app, loaded, settings=settings, caller=caller) as client,
    ):
        yield client
