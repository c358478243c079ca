"""The offer of `run`: the packs and the time limit in its description, and word to clients when the packs change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent, ToolsListChanged

from mcp_core.quick_dataclass import dataclass
from onetool.front.late_app import ServedApps
from onetool.front.offer_text import word_offer
from onetool.people.person_of import person_of
from ot.clients.person import LOCAL_PERSON, Person

if TYPE_CHECKING:
    from ot.app import App

State = TypeVar("State")

SETTLE = 0.2  # seconds in which changes come together
_PATIENCE = 5.0  # seconds for a client to take the news
_MOST_CLIENTS = 256
_CONCERNED = frozenset({"tools/list", "subscriptions/listen"})


_ASKING: ContextVar[Person] = ContextVar("onetool_asking", default=LOCAL_PERSON)
"""Who lists tools, or listens for changes: the SDK tells neither of them whose request it is."""


@dataclass(slots=True)
class _Audience:
    """What one person was told, and their clients."""

    told: str | None = None  # None until somebody has asked: nobody needs to hear of changes before
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    sessions: OrderedDict[int, tuple[object, ServerSession]] = field(default_factory=OrderedDict)


class Offer:
    """Describes what there is to those who list tools, and tells them when it has changed.

    A client with a session is sent a notification; a sessionless one hears of it on the stream that it asked for, of
    which this is the bus. Everybody hears of their own engine's changes only.
    """

    def __init__(self, apps: ServedApps) -> None:
        self._apps = apps
        self._audiences: dict[str, _Audience] = {}  # by principal
        self._changed: dict[str, Person] = {}
        self._any_changed = anyio.Event()
        apps.opened = self._listen

    async def describe(self) -> str:
        """Name the packs that there are for who asks, the time limit, and how to find more."""
        person = _ASKING.get()
        async with self._apps.use(person) as app:
            self._listen(person, app)
            audience = self._audience_of(person)
            audience.told = word_offer(app)
            return audience.told

    async def note_client(self, ctx: ServerRequestContext[State], call_next: CallNext) -> HandlerResult:
        """Remember who asks, and who has listed tools; a middleware."""
        if ctx.method not in _CONCERNED:
            return await call_next(ctx)
        person = person_of(ctx)
        if ctx.method == "tools/list" and (client := ctx.session.client_params) is not None:
            sessions = self._audience_of(person).sessions
            sessions[id(client)] = (client, ctx.session)  # kept, so that its id stays its own
            sessions.move_to_end(id(client))
            while len(sessions) > _MOST_CLIENTS:
                sessions.popitem(last=False)
        token = _ASKING.set(person)
        try:
            return await call_next(ctx)
        finally:
            _ASKING.reset(token)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Let whoever asks hear of their own changes."""
        return self._audience_of(_ASKING.get()).bus.subscribe(listener)

    async def publish(self, event: ServerEvent) -> None:
        """Tell everybody."""
        for audience in list(self._audiences.values()):
            await audience.bus.publish(event)

    async def tell_changes(self) -> None:
        """Tell every client that has listed tools when the list would be another one."""
        while True:
            await self._any_changed.wait()
            await anyio.sleep(SETTLE)
            self._any_changed = anyio.Event()
            changed, self._changed = self._changed, {}
            for person in changed.values():
                await self._tell(person)

    async def _tell(self, person: Person) -> None:
        audience = self._audience_of(person)
        if audience.told is None:
            return
        async with self._apps.use(person) as app:
            text = word_offer(app)
        if text == audience.told:
            return
        audience.told = text
        await audience.bus.publish(ToolsListChanged())
        for _, session in list(audience.sessions.values()):
            with anyio.move_on_after(_PATIENCE), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await session.send_tool_list_changed()

    def _listen(self, person: Person, app: App) -> None:
        app.registry.on_change = partial(self._note_change, person)

    def _note_change(self, person: Person) -> None:
        self._changed[person.principal] = person
        self._any_changed.set()

    def _audience_of(self, person: Person) -> _Audience:
        audience = self._audiences.get(person.principal)
        if audience is None:
            audience = self._audiences[person.principal] = _Audience()
        return audience


@asynccontextmanager
async def open_offer(offer: Offer) -> AsyncIterator[None]:
    """Tell clients of changes as long as this is open."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offer.tell_changes)
        yield
        tasks.cancel_scope.cancel()
