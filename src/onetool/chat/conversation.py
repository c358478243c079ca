"""The assistant as the main thread sees it; see `onetool.console.engine_events`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from onetool.chat.kept_conversations import KeptConversation
from onetool.console.caller import make_caller
from onetool.console.engine_events import EngineEvents, Question
from ot.ai import Event, ToolLoop
from ot.app import open_app, open_assistant
from ot.clients.caller import Caller
from ot.config.loader import LoadedConfig
from ot.config.models import AiSettings
from ot.kernel.zygote_process import ZygoteProcess

CLIENT = "onetool chat"

T = TypeVar("T")


class Conversation:
    """The assistant as the main thread sees it."""

    def __init__(self, portal: BlockingPortal, client: ToolLoop, events: EngineEvents[Event]) -> None:
        self._portal = portal
        self._client = client
        self._events = events

    def reply(self, text: str) -> Generator[Event | Question | None]:
        """Yield events while the model answers, as `EngineEvents.follow` does; raises ModelError."""
        return self._events.follow(self._portal, partial(self._answer, text))

    def see(self, look: Callable[[ToolLoop], T]) -> T:
        """Look at the client, on its own thread."""
        return self._portal.call(look, self._client)

    async def _answer(self, text: str, tell: Callable[[Event], None]) -> None:
        async with aclosing(self._client.reply(text)) as events:
            async for event in events:
                tell(event)


@contextmanager
def open_conversation(
    loaded: LoadedConfig, settings: AiSettings, *, launched: ZygoteProcess, may_ask: bool, kept: KeptConversation
) -> Iterator[Conversation]:
    """Start the engine and the model's client, which continues the `kept` conversation.

    With `may_ask`, questions come among the events.
    """
    events: EngineEvents[Event] = EngineEvents()
    caller = make_caller(CLIENT, ask=events.ask if may_ask else None, memory=kept.memory)
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(_open(loaded, settings, launched, caller)) as client,
    ):
        portal.call(client.go_on, kept.earlier, kept)
        yield Conversation(portal, client, events)


@asynccontextmanager
async def _open(
    loaded: LoadedConfig, settings: AiSettings, launched: ZygoteProcess, caller: Caller
) -> AsyncIterator[ToolLoop]:
    async with (
        open_app(loaded, launched=launched, offer_run=True) as app,
        open_assistant(app, loaded, settings=settings, caller=caller) as client,
    ):
        yield client
