"""The offer to clients: what the description of `run` says there is, and what servers have beside tools.

Clients hear when the packs, or one of those lists, have changed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import anyio

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from onetool.front.definition import RESULT_TEMPLATE, word_offer
from onetool.front.late_app import ServedApps
from onetool.front.messages import LISTS
from onetool.front.rendering import FRESH
from ot.clients.person import Person

if TYPE_CHECKING:
    from ot.app import App
    from ot.proxy import Listed

SETTLE = 0.2  # seconds in which changes come together
_PATIENCE = 5.0  # seconds for a client to take the news
_MOST_CLIENTS = 256

TOOLS = "tools"
PAGE = 1_000  # items
Tell = Callable[[str], Awaitable[None]]
"""Tells one client that a list has changed: that of tools, prompts or resources."""


class StaleCursorError(Exception):
    """A cursor of a list that is another one by now."""


@dataclass(slots=True)
class _Audience:
    """The offer that one person was given, and their clients."""

    told: dict[str, object] = field(default_factory=dict)  # by list; nobody needs to hear of one that nobody asked for
    clients: OrderedDict[object, Tell] = field(default_factory=OrderedDict)


class Offer:
    """Describes what there is to those who list tools, and tells them when it has changed for them."""

    def __init__(self, apps: ServedApps) -> None:
        self._apps = apps
        self._audiences: dict[str, _Audience] = {}  # by principal
        self._changed: dict[str, Person] = {}
        self._any_changed = anyio.Event()
        self._numbers = itertools.count()
        self._due: dict[object, Callable[[], Awaitable[None]]] = {}
        self._any_due = anyio.Event()
        apps.opened = self._listen

    async def describe(self, person: Person) -> str:
        """Name the packs that there are for a person, the time limit, and how to find more."""
        async with self._apps.use(person) as app:
            self._listen(person, app)
            text = word_offer(app)
            self._audience_of(person).told[TOOLS] = text
            return text

    async def list(self, person: Person, method: str, cursor: str) -> tuple[JsonObject, int]:
        """List a page of what servers have beside tools, and say for how many milliseconds that is good.

        Raises StaleCursorError.
        """
        async with self._apps.use(person) as app:
            self._listen(person, app)
            listed = await app.servers.listed()
            kind = method.split("/")[-2]
            self._audience_of(person).told[method.partition("/")[0]] = _contents(listed, method.partition("/")[0])
            own = [RESULT_TEMPLATE] if kind == "templates" else []
            items, further = _page([*getattr(listed, kind), *own], cursor)
            found: JsonObject = {LISTS[method]: [*app.redactor.value(items)]}
            return {**found, "nextCursor": further} if further else found, FRESH if listed.complete else 0

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

    def tell_soon(self, key: object, tell: Callable[[], Awaitable[None]]) -> None:
        """Tell a client something, once where several wait to tell it the same."""
        self._due[key] = tell
        self._any_due.set()

    async def tell_due(self) -> None:
        """Tell clients what is due, so that whoever knows of it need not wait for them."""
        while True:
            await self._any_due.wait()
            due, self._due, self._any_due = self._due, {}, anyio.Event()
            async with anyio.create_task_group() as tasks:
                for tell in due.values():
                    tasks.start_soon(_tell, tell)

    async def tell_changes(self) -> None:
        """Tell every client that has listed tools when the list would be another one."""
        while True:
            await self._any_changed.wait()
            await anyio.sleep(SETTLE)
            self._any_changed = anyio.Event()
            changed, self._changed = self._changed, {}
            for person in changed.values():
                audience = self._audience_of(person)
                if not audience.told:
                    continue
                async with self._apps.use(person) as app:
                    now = await _describe(app, audience.told)
                changed_lists = [name for name, what in now.items() if what != audience.told[name]]
                audience.told |= now
                for tell, name in itertools.product([*audience.clients.values()], changed_lists):
                    await _tell(partial(tell, name))

    def _listen(self, person: Person, app: App) -> None:
        def note_change() -> None:
            self._changed[person.principal] = person
            self._any_changed.set()

        app.registry.on_change = note_change

    def _audience_of(self, person: Person) -> _Audience:
        return self._audiences.setdefault(person.principal, _Audience())


async def _tell(tell: Callable[[], Awaitable[None]]) -> None:
    with anyio.move_on_after(_PATIENCE), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await tell()


def _page(items: list[JsonObject], cursor: str) -> tuple[list[JsonObject], str]:
    """Return a part of a list, and the cursor of the next part if there is one; raises StaleCursorError."""
    if len(items) <= PAGE and not cursor:
        return items, ""
    digest = hashlib.blake2b(json.dumps(items).encode(), digest_size=8).hexdigest()
    place, _, of = cursor.partition(".")
    if cursor and (of != digest or not place.isdecimal()):
        raise StaleCursorError
    end = int(place or 0) + PAGE
    return items[end - PAGE : end], f"{end}.{digest}" if end < len(items) else ""


async def _describe(app: App, lists: Iterable[str]) -> dict[str, object]:
    """Return what some lists are made of at this moment."""
    listed = None if {*lists} <= {TOOLS} else await app.servers.listed()
    return {name: word_offer(app) if listed is None or name == TOOLS else _contents(listed, name) for name in lists}


def _contents(listed: Listed, name: str) -> object:
    return listed.prompts if name == "prompts" else (listed.resources, listed.templates)


@asynccontextmanager
async def open_offer(apps: ServedApps) -> AsyncIterator[Offer]:
    """Tell clients of changes as long as this is open."""
    offer = Offer(apps)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offer.tell_changes)
        tasks.start_soon(offer.tell_due)
        yield offer
        tasks.cancel_scope.cancel()
