"""The offer of `run`: the packs and the time limit in its description, and word to clients when the packs change."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

import anyio

from mcp_core.quick_dataclass import dataclass
from onetool.front.definition import word_offer
from onetool.front.late_app import ServedApps
from ot.clients.person import Person

if TYPE_CHECKING:
    from ot.app import App

SETTLE = 0.2  # seconds in which changes come together
_PATIENCE = 5.0  # seconds for a client to take the news
_MOST_CLIENTS = 256

Tell = Callable[[], Awaitable[None]]
"""Tells one client that the list of tools has changed."""


@dataclass(slots=True)
class _Audience:
    """The offer that one person was given, and their clients."""

    told: str | None = None  # None until somebody has asked: nobody needs to hear of changes before
    clients: OrderedDict[object, Tell] = field(default_factory=OrderedDict)


class Offer:
    """Describes what there is to those who list tools, and tells them when it has changed for them."""

    def __init__(self, apps: ServedApps) -> None:
        self._apps = apps
        self._audiences: dict[str, _Audience] = {}  # by principal
        self._changed: dict[str, Person] = {}
        self._any_changed = anyio.Event()
        self._numbers = itertools.count()
        apps.opened = self._listen

    async def describe(self, person: Person) -> str:
        """Name the packs that there are for a person, the time limit, and how to find more."""
        async with self._apps.use(person) as app:
            self._listen(person, app)
            audience = self._audience_of(person)
            audience.told = word_offer(app)
            return audience.told

    def watch(self, person: Person, tell: Tell, *, key: object = None) -> Callable[[], None]:
        """Let a client of this person hear of changes, once for each key; returns what ends that."""
        clients = self._audience_of(person).clients
        key = next(self._numbers) if key is None else key
        clients[key] = tell
        clients.move_to_end(key)
        while len(clients) > _MOST_CLIENTS:
            clients.popitem(last=False)

        def forget() -> None:
            clients.pop(key, None)

        return forget

    async def tell_changes(self) -> None:
        """Tell every client that has listed tools when the list would be another one."""
        while True:
            await self._any_changed.wait()
            await anyio.sleep(SETTLE)
            self._any_changed = anyio.Event()
            changed, self._changed = self._changed, {}
            for person in changed.values():
                audience = self._audience_of(person)
                if audience.told is None:
                    continue
                async with self._apps.use(person) as app:
                    text = word_offer(app)
                tells = list(audience.clients.values()) if text != audience.told else []
                audience.told = text
                for tell in tells:
                    with anyio.move_on_after(_PATIENCE), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await tell()

    def _listen(self, person: Person, app: App) -> None:
        def note_change() -> None:
            self._changed[person.principal] = person
            self._any_changed.set()

        app.registry.on_change = note_change

    def _audience_of(self, person: Person) -> _Audience:
        return self._audiences.setdefault(person.principal, _Audience())


@asynccontextmanager
async def open_offer(apps: ServedApps) -> AsyncIterator[Offer]:
    """Tell clients of changes as long as this is open."""
    offer = Offer(apps)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offer.tell_changes)
        yield offer
        tasks.cancel_scope.cancel()
