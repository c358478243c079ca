"""The engine behind a server that already answers: opened when the client has its first answer, or when it is needed.

Loading the engine takes a tenth of a second, in which a client would only wait for the answer to `initialize`. While it
is open, whatever blocks the event loop is named in the log.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from mcp_core.line_log import write_past_handlers
from ot.clients.front import KnownClients
from ot.clients.person import LOCAL, Person
from ot.logs import write_log

if TYPE_CHECKING:
    from ot.app import App
    from ot.apps import Apps
    from ot.config.mistakes import Mistake

STALL = 2.0  # seconds without a turn of the event loop


async def name_stalls(stall: float = STALL) -> None:
    """Log where the main thread is whenever the event loop is blocked for `stall` seconds, until cancelled.

    A Python handler of a signal looks at its own thread only. `faulthandler` would also tell while C code holds the
    interpreter lock, but it walks the frames of threads that are running, and has crashed servers that were paused.
    A process that was stopped or swapped out appears here too: with few seconds of processor time.
    """
    if threading.current_thread() is not threading.main_thread():  # signals belong to the main thread
        return
    before = signal.signal(signal.SIGALRM, _write_stack)
    try:
        while True:
            signal.setitimer(signal.ITIMER_REAL, stall)
            begun, used = time.monotonic(), time.process_time()
            await anyio.sleep(stall / 2)
            passed = time.monotonic() - begun
            if passed > stall:
                processor = round(time.process_time() - used, 1)
                write_log(logging.WARNING, "loop.stall", seconds=round(passed - stall / 2, 1), processor=processor)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _write_stack(_signum: int, frame: FrameType | None) -> None:
    """Write the stack straight to the log: the thread may be in the middle of writing a line of it."""
    places = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=20, lookup_lines=False)
    lines = [f'  File "{place.filename}", line {place.lineno}, in {place.name}\n' for place in places]
    text = "".join(["The event loop is blocked (most recent call first):\n", *lines])
    write_past_handlers(text, level=logging.WARNING, name="loop.stall")


Engine = TypeVar("Engine")


class ServedApps(Protocol):
    """The engines that a server hands requests to, one for all or one a person; `use` keeps that of a person open.

    `why_not_ready` says why requests would wait, if they would. `clients_of` gives who is told what each client of a
    person can do, as it comes; `all_open` the open engines, each with the principal it is for.
    """

    mistakes: Sequence[Mistake]  # of the configuration: of what is off, a client is told when it connects
    look: bool  # `look` is offered beside `run`
    opened: Callable[[Person, App], None]  # hears of an engine that was opened for a person

    async def why_not_ready(self) -> str: ...
    def use(self, person: Person) -> AbstractAsyncContextManager[App]: ...
    def clients_of(self, person: Person) -> KnownClients: ...
    def all_open(self) -> Sequence[tuple[str, App]]: ...


class _Late(Generic[Engine]):
    """Asked with `get`; `want` has it opened ahead of that."""

    def __init__(self, mistakes: Sequence[Mistake] = (), *, look: bool = False) -> None:
        self.mistakes = mistakes
        self.look = look
        self.opened: Callable[[Person, App], None] = lambda person, app: None
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self.at_hand: Engine | None = None  # the engine, if it is open

    def want(self) -> None:
        self._wanted.set()

    async def get(self) -> Engine:
        if self.at_hand is None:
            self.want()
            await self._ready.wait()
        assert self.at_hand is not None
        return self.at_hand

    async def why_not_ready(self) -> str:
        return "" if self._ready.is_set() else "is being opened"

    async def live(self, open_engine: Callable[[], AbstractAsyncContextManager[Engine]]) -> None:
        await self._wanted.wait()
        async with open_engine() as self.at_hand:
            self._ready.set()
            await name_stalls()


class LateApp(_Late["App"]):
    """The one engine of the one person whom a server serves; a context in itself, which costs a request nothing."""

    def __init__(
        self, mistakes: Sequence[Mistake] = (), clients: KnownClients | None = None, *, look: bool = False
    ) -> None:
        super().__init__(mistakes, look=look)
        self.clients = clients or KnownClients()

    def use(self, person: Person) -> AbstractAsyncContextManager[App]:
        return self

    def clients_of(self, person: Person) -> KnownClients:
        return self.clients

    def all_open(self) -> Sequence[tuple[str, App]]:
        return [] if self.at_hand is None else [(LOCAL, self.at_hand)]

    async def __aenter__(self) -> App:
        return await self.get()

    async def __aexit__(self, *_: object) -> None:
        return None


class LateApps(_Late["Apps"]):
    def __init__(self, mistakes: Sequence[Mistake] = (), *, look: bool = False) -> None:
        super().__init__(mistakes, look=look)
        self._clients: dict[str, KnownClients] = {}

    @asynccontextmanager
    async def use(self, person: Person) -> AsyncIterator[App]:
        async with (await self.get()).use(person) as app:
            yield app

    def clients_of(self, person: Person) -> KnownClients:
        return self._clients.setdefault(person.principal, KnownClients())

    def all_open(self) -> Sequence[tuple[str, App]]:
        found = [] if self.at_hand is None else self.at_hand.all_open()
        return [(person.principal, app) for person, app in found]


@asynccontextmanager
async def open_late_app(
    open_app: Callable[[], AbstractAsyncContextManager[App]],
    mistakes: Sequence[Mistake] = (),
    clients: KnownClients | None = None,
    *,
    look: bool = False,
) -> AsyncIterator[LateApp]:
    """Open and close the engine in one task, as its parts require; `open_app` may load it."""
    app = LateApp(mistakes, clients, look=look)
    async with _living(app, open_app):
        yield app


@asynccontextmanager
async def open_late_apps(
    open_apps: Callable[[LateApps], AbstractAsyncContextManager[Apps]],
    mistakes: Sequence[Mistake] = (),
    *,
    look: bool = False,
) -> AsyncIterator[LateApps]:
    """Open and close the engines of all people in the same way."""
    apps = LateApps(mistakes, look=look)
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
