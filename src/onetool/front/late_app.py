"""The engine behind a server that already answers: opened when the client has its first answer, or when it is needed.

Loading the engine takes a tenth of a second, in which a client would only wait for the answer to `initialize`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from onetool.stalls import name_stalls
from ot.clients.front import KnownClients
from ot.clients.person import LOCAL, Person

if TYPE_CHECKING:
    from ot.app import App
    from ot.apps import Apps
    from ot.config.mistakes import Mistake

Engine = TypeVar("Engine")


class ServedApps(Protocol):
    """The engines that a server hands requests to: one for all, or one a person."""

    mistakes: Sequence[Mistake]  # of the configuration: of what is off, a client is told when it connects
    opened: Callable[[Person, App], None]  # hears of an engine that was opened for a person

    async def why_not_ready(self) -> str:
        """Say why requests would wait; an empty text if they would not."""
        ...

    def use(self, person: Person) -> AbstractAsyncContextManager[App]:
        """Give the engine of a person, which stays open meanwhile."""
        ...

    def clients_of(self, person: Person) -> KnownClients:
        """Return who is told what each client of a person can do, as it comes."""
        ...

    def all_open(self) -> Sequence[tuple[str, App]]:
        """Return the engines that are open, each with the principal it is for."""
        ...


class _Late(Generic[Engine]):
    """Asked with `get`; `want` has it opened ahead of that."""

    def __init__(self, mistakes: Sequence[Mistake] = ()) -> None:
        self.mistakes = mistakes
        self.opened: Callable[[Person, App], None] = lambda person, app: None
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._engine: Engine | None = None

    def want(self) -> None:
        self._wanted.set()

    @property
    def at_hand(self) -> Engine | None:
        return self._engine

    async def get(self) -> Engine:
        if self._engine is None:
            self.want()
            await self._ready.wait()
        assert self._engine is not None
        return self._engine

    async def why_not_ready(self) -> str:
        return "" if self._ready.is_set() else "is being opened"

    async def live(self, open_engine: Callable[[], AbstractAsyncContextManager[Engine]]) -> None:
        await self._wanted.wait()
        async with open_engine() as self._engine:
            self._ready.set()
            await name_stalls()


class LateApp(_Late["App"]):
    """The one engine of the one person whom a server serves; a context in itself, which costs a request nothing."""

    def __init__(self, mistakes: Sequence[Mistake] = (), clients: KnownClients | None = None) -> None:
        super().__init__(mistakes)
        self.clients = clients or KnownClients()

    def use(self, person: Person) -> AbstractAsyncContextManager[App]:
        return self

    def clients_of(self, person: Person) -> KnownClients:
        return self.clients

    def all_open(self) -> Sequence[tuple[str, App]]:
        return [] if self._engine is None else [(LOCAL, self._engine)]

    async def __aenter__(self) -> App:
        return await self.get()

    async def __aexit__(self, *_: object) -> None:
        return None


class LateApps(_Late["Apps"]):
    def __init__(self, mistakes: Sequence[Mistake] = ()) -> None:
        super().__init__(mistakes)
        self._clients: dict[str, KnownClients] = {}

    @asynccontextmanager
    async def use(self, person: Person) -> AsyncIterator[App]:
        async with (await self.get()).use(person) as app:
            yield app

    def clients_of(self, person: Person) -> KnownClients:
        return self._clients.setdefault(person.principal, KnownClients())

    def all_open(self) -> Sequence[tuple[str, App]]:
        found = [] if self._engine is None else self._engine.all_open()
        return [(person.principal, app) for person, app in found]


@asynccontextmanager
async def open_late_app(
    open_app: Callable[[], AbstractAsyncContextManager[App]],
    mistakes: Sequence[Mistake] = (),
    clients: KnownClients | None = None,
) -> AsyncIterator[LateApp]:
    """Open and close the engine in one task, as its parts require; `open_app` may load it."""
    app = LateApp(mistakes, clients)
    async with _living(app, open_app):
        yield app


@asynccontextmanager
async def open_late_apps(
    open_apps: Callable[[LateApps], AbstractAsyncContextManager[Apps]], mistakes: Sequence[Mistake] = ()
) -> AsyncIterator[LateApps]:
    """Open and close the engines of all people in the same way."""
    apps = LateApps(mistakes)
    async with _living(apps, lambda: open_apps(apps)):
        yield apps


@asynccontextmanager
async def _living(
    late: _Late[Engine], open_engine: Callable[[], AbstractAsyncContextManager[Engine]]
) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late.live, open_engine)
        yield
        tasks.cancel_scope.cancel()
