"""Apps: one engine a person, opened for their first request and closed when nobody has used it for long.

Only the shared parts serve several people: a process that one person's data has touched never serves another.
"""

from __future__ import annotations

import logging
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_core.quick_dataclass import dataclass
from ot.app import App, open_app
from ot.clients.front import KnownClients
from ot.clients.person import Person
from ot.config.loader import LoadedConfig
from ot.config.personal import for_person, groups_that_count, is_administrator
from ot.kernel.zygote_process import ZygoteProcess
from ot.logs import LogSpan, write_log
from ot.parts.shared_parts import SharedBackend, SharedParts, open_shared_parts
from ot.telemetry.telemetry import Telemetry

IDLE = 900.0  # seconds until an app is closed that nobody uses
MOST = 256  # apps that may stay open
FILES_OF_APP = 16  # that are open in an app at most, with some for its servers and a share for everything else
_LOOKS = 10  # at idle apps, while one of them becomes too old

_Key = tuple[str, frozenset[str]]
"""A principal, and the groups that count."""


@dataclass(eq=False, slots=True)
class _Kept:
    """One person's app: being opened, open, or about to be closed."""

    person: Person
    app: App | None = None
    failure: Exception | None = None
    users: int = 0
    idle_since: float = 0.0
    settled: anyio.Event = field(default_factory=anyio.Event)  # it is open, or could not be opened
    left: anyio.Event = field(default_factory=anyio.Event)  # nobody will use it any more

    @property
    def used(self) -> bool:
        """True while a request or a run needs it; a run that waits for a person's word is one that goes on."""
        return self.users > 0 or self.app is None or self.app.runs.count > 0


@dataclass(eq=False)
class Apps:
    """Opens apps late and keeps them in the order of their use; one that is in use is never closed.

    A person whose groups change gets another app: what has begun with fewer rights never goes on with more.
    """

    config: LoadedConfig  # of the team
    launched: ZygoteProcess | None = None
    backing: SharedBackend | None = None
    own_definition: Callable[[], str] = str
    clients_of: Callable[[Person], KnownClients | None] = lambda person: None
    opened: Callable[[Person, App], None] = lambda person, app: None  # hears of each app that was opened
    telemetry: Telemetry | None = None
    idle: float = IDLE
    most: int = MOST
    _kept: OrderedDict[_Key, _Kept] = field(default_factory=OrderedDict)  # the least recently used first
    _reloading: anyio.Lock = field(default_factory=anyio.Lock)
    _shared: SharedParts = field(init=False)
    _tasks: TaskGroup = field(init=False)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Self]:
        """Be open to the people of a team, for as long as this is."""
        opening = open_shared_parts(self.config, self.launched, self.backing)
        async with opening as self._shared, anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._close_idle)
            yield self
            self._tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def use(self, person: Person) -> AsyncIterator[App]:
        """Give a person's app, which stays open meanwhile; raises whatever keeps it from being opened."""
        kept = self._find(person)
        kept.users += 1
        try:
            await kept.settled.wait()
            if kept.app is None:
                assert kept.failure is not None
                raise kept.failure.with_traceback(None)
            yield kept.app
        finally:
            kept.users -= 1
            kept.idle_since = anyio.current_time()

    def all_open(self) -> list[tuple[Person, App]]:
        """Return everybody whose app is open, the least recently seen first; may be called on any thread."""
        return [(kept.person, kept.app) for kept in list(self._kept.values()) if kept.app is not None]

    async def reload(self) -> None:
        """Read the configuration again, and let every app follow it; raises ConfigError, and nothing has changed."""
        async with self._reloading:
            with LogSpan("config.reload") as span:
                self.config = await anyio.to_thread.run_sync(self.config.read_again)
                apps = self.all_open()
                for person, app in apps:
                    await app.reload.follow(for_person(self.config, person))
                span.add(files=[str(file) for file in self.config.files], apps=len(apps))

    # -- their lives

    def _find(self, person: Person) -> _Kept:
        key = person.principal, groups_that_count(self.config.config, person)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(person)
            self._tasks.start_soon(self._live, key, kept)
            self._make_room()
        self._kept.move_to_end(key)
        return kept

    async def _live(self, key: _Key, kept: _Kept) -> None:
        """Open an app and close it, in one task as its parts require."""
        try:
            with LogSpan("app.live", level=logging.DEBUG, principal=kept.person.principal):
                async with self._open(kept.person) as kept.app:
                    self.opened(kept.person, kept.app)
                    kept.idle_since = anyio.current_time()
                    kept.settled.set()
                    await kept.left.wait()
        except Exception as error:  # noqa: BLE001 - it concerns one person, and not the server
            kept.failure = error
            write_log(logging.ERROR, "app.live", principal=kept.person.principal, detail=traceback.format_exc())
        finally:
            if self._kept.get(key) is kept:
                del self._kept[key]
            kept.settled.set()

    @asynccontextmanager
    async def _open(self, person: Person) -> AsyncIterator[App]:
        team = self.config
        administers = is_administrator(team.config, person)
        async with open_app(
            for_person(team, person),
            shared=self._shared,
            own_definition=self.own_definition,
            connect_ahead=False,  # no process for somebody who does not need it
            clients=self.clients_of(person),
            telemetry=self.telemetry,
            reload_everywhere=self.reload if administers else None,
        ) as app:
            if team is not self.config:  # it was reloaded meanwhile
                await app.reload.follow(for_person(self.config, person))
            yield app

    async def _close_idle(self) -> None:
        """Look after apps for as long as this is not cancelled."""
        while True:
            await anyio.sleep(self.idle / _LOOKS)
            now = anyio.current_time()
            for key, kept in list(self._kept.items()):
                if kept.used:
                    kept.idle_since = now
                elif now - kept.idle_since >= self.idle:
                    self._leave(key)

    def _make_room(self) -> None:
        unused = [key for key, kept in self._kept.items() if not kept.used]
        for key in unused[: max(0, len(self._kept) - self.most)]:
            self._leave(key)

    def _leave(self, key: _Key) -> None:
        """Let nobody use an app from now on, so that it can be closed; the next request opens a new one."""
        self._kept.pop(key).left.set()
