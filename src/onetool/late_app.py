"""The engine behind a server that already answers: opened when the client has its first answer, or when it is needed.

Loading the engine takes a tenth of a second, in which a client would only wait for the answer to `initialize`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from onetool.stalls import name_stalls
from ot.client_claims import KnownClients
from ot.config.entries import Mistake

if TYPE_CHECKING:
    from ot.app import App


class LateApp:
    """Asked with `get`; `want` has it opened ahead of that."""

    def __init__(self, mistakes: Sequence[Mistake] = (), clients: KnownClients | None = None) -> None:
        self.clients = clients or KnownClients()  # told what each client can do, as it comes
        self.mistakes = mistakes  # of the configuration: of what is off, a client is told when it connects
        self._wanted = anyio.Event()
        self._opened = anyio.Event()
        self._app: App | None = None

    def want(self) -> None:
        """Open it now, before anyone needs it."""
        self._wanted.set()

    async def get(self) -> App:
        """Return the engine as soon as it is open."""
        if self._app is None:
            self.want()
            await self._opened.wait()
        assert self._app is not None
        return self._app

    async def why_not_ready(self) -> str:
        """Say why requests would wait; an empty text if they would not."""
        return "" if self._opened.is_set() else "is being opened"

    async def live(self, open_app: Callable[[], AbstractAsyncContextManager[App]]) -> None:
        await self._wanted.wait()
        async with open_app() as self._app:
            self._opened.set()
            await name_stalls()


@asynccontextmanager
async def open_late_app(
    open_app: Callable[[], AbstractAsyncContextManager[App]],
    mistakes: Sequence[Mistake] = (),
    clients: KnownClients | None = None,
) -> AsyncIterator[LateApp]:
    """Open and close the engine in one task, as its parts require; `open_app` may load it."""
    app = LateApp(mistakes, clients)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app.live, open_app)
        yield app
        tasks.cancel_scope.cancel()
