"""The offer of `run`: the packs and the time limit in its description, and word to clients when the packs change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from onetool.late_app import LateApp

if TYPE_CHECKING:
    from ot.app import App

State = TypeVar("State")

SETTLE = 0.2  # seconds in which changes come together
_PATIENCE = 5.0  # seconds for a client to take the news
_MOST_CLIENTS = 256


class Offer:
    """Describes what there is to those who list tools, and tells them when it has changed.

    A client with a session is sent a notification; a sessionless one hears of it on the stream that it asked for.
    """

    def __init__(self, app: LateApp) -> None:
        self.bus = InMemorySubscriptionBus()
        self._app = app
        self._told: str | None = None  # None until somebody has asked: nobody needs to hear of changes before
        self._changed = anyio.Event()
        self._sessions: OrderedDict[int, tuple[object, ServerSession]] = OrderedDict()

    async def describe(self) -> str:
        """Name the packs that there are, the time limit, and how to find more."""
        app = await self._app.get()
        app.registry.on_change = self._note_change
        self._told = _word(app)
        return self._told

    async def note_client(self, ctx: ServerRequestContext[State], call_next: CallNext) -> HandlerResult:
        """Remember who has listed tools; a middleware."""
        if ctx.method == "tools/list" and (client := ctx.session.client_params) is not None:
            self._sessions[id(client)] = (client, ctx.session)  # kept, so that its id stays its own
            self._sessions.move_to_end(id(client))
            while len(self._sessions) > _MOST_CLIENTS:
                self._sessions.popitem(last=False)
        return await call_next(ctx)

    def _note_change(self) -> None:
        self._changed.set()

    async def tell_changes(self) -> None:
        """Tell every client that has listed tools when the list would be another one."""
        while True:
            await self._changed.wait()
            await anyio.sleep(SETTLE)
            self._changed = anyio.Event()
            text = _word(await self._app.get())
            if text != self._told:
                self._told = text
                await self.bus.publish(ToolsListChanged())
                for _, session in list(self._sessions.values()):
                    with anyio.move_on_after(_PATIENCE), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await session.send_tool_list_changed()


def _word(app: App) -> str:
    settings = app.runner.settings
    limit = f"A run may take {settings.timeout:g} s"
    if settings.patience:
        limit += f"; after {settings.patience:g} s you get its id, and its answer from `ot.wait`"
    return f"{app.registry.word_packs()} {limit}."


@asynccontextmanager
async def open_offer(offer: Offer) -> AsyncIterator[None]:
    """Tell clients of changes as long as this is open."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offer.tell_changes)
        yield
        tasks.cancel_scope.cancel()
