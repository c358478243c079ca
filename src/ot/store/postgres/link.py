"""The link to PostgreSQL: a pool of connections on an event loop in a thread of its own.

A thread can wait for it, an event loop can await it, and neither can block the other.
Nothing is connected before the first use. Where the database is gone, everything fails at once and says why, while the
link tries again on its own until it is back.

Since it was connected, it renews a lease, by the clock of the database. Once that has ended, others may count what this
process does as lost; what makes sure that nothing is done twice is that they take it over first.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

import asyncpg

from ot.logs import write_log
from ot.store.owner import StoreUnavailableError
from ot.store.postgres.group_commit import Connection, GroupCommit, Work
from ot.store.postgres.migrations import SCHEMA, migrate

MOST_CONNECTIONS = 10
CONNECTING = 5.0  # seconds
STATEMENT = 15.0  # seconds
TRYING_AGAIN = 0.5  # seconds between two attempts to reach a database that is gone
CLOSING = 5.0  # seconds
LEASE = 10.0  # seconds after which a process that nothing is heard of counts as lost
RENEWING = 2.5  # seconds

_RENEW = """
INSERT INTO writers VALUES ($1, clock_timestamp() + make_interval(secs => $2))
ON CONFLICT (name) DO UPDATE SET until = excluded.until
"""
_LET_GO = "DELETE FROM writers WHERE name = $1"

# What asyncpg says of an idle connection whose end the database has announced, until it hears of the end itself.
_FAREWELL = "another operation (2) is in progress"

Given = TypeVar("Given")

if TYPE_CHECKING:
    _AnyConnection = asyncpg.Connection[asyncpg.Record]
else:  # it has no parameters when it runs
    _AnyConnection = asyncpg.Connection

LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.InvalidSchemaNameError,  # a role that may not use the schema does not see it
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""Errors that are about the database and the way to it, not about a statement."""


class PostgresLink:
    """Does work with connections of one database. Whatever is in its way raises StoreUnavailableError."""

    def __init__(self, url: str, *, most_connections: int = MOST_CONNECTIONS, statement: float = STATEMENT) -> None:
        """A `statement` may take so many seconds."""
        self.problem = ""  # why the database cannot be used at present, if so
        self.place = place_of(url)
        self.password = unquote(urlsplit(url).password or "")
        self.name = f"onetool {secrets.token_hex(8)}"  # of this process, as the database lists it
        self._url = url
        self._most = most_connections
        self._statement = statement
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._holding = asyncio.Semaphore(max(1, most_connections // 3))
        self._trying: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._closed = False
        self._key = b""
        self.commits = GroupCommit(self._soon, self._use)

    # -- from other threads

    def connect(self) -> None:
        """Begin to connect, and to bring the tables up to date; nobody waits for it."""
        self._start().call_soon_threadsafe(self._try_soon)

    async def run(self, work: Work[Given]) -> Given:
        """Do some work, and await it on whatever event loop."""
        return await asyncio.wrap_future(self.submit(work))

    async def hold(self, work: Work[Given]) -> Given:
        """Do work that keeps its connection for long; only a few at a time, so that others find one."""

        async def held() -> Given:
            async with self._holding:
                return await self._use(work)

        self.check()
        loop = self._start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(held(), loop))

    def run_now(self, work: Work[Given]) -> Given:
        return self.submit(work).result()

    async def fetch(self, statement: str, *values: object) -> list[asyncpg.Record]:
        """Execute one statement and return its rows, if it has any."""
        return await self.run(lambda connection: connection.fetch(statement, *values))

    def fetch_now(self, statement: str, *values: object) -> list[asyncpg.Record]:
        """Do the same on a thread that may wait."""
        return self.run_now(lambda connection: connection.fetch(statement, *values))

    async def ready(self) -> None:
        """Wait until the tables are there; raises StoreUnavailableError where they cannot be used."""
        self.check()
        if self._pool is None:
            await self.run(_nothing)

    def derive_key(self, purpose: str) -> bytes:
        """Return a key for a purpose, the same in all replicas; raises StoreUnavailableError before there is a link."""
        if not self._key:
            raise StoreUnavailableError(self.problem or f"{self.place} is not connected yet")
        return hmac.digest(self._key, purpose.encode(), "sha256")

    def submit(self, work: Work[Given]) -> Future[Given]:
        """Do some work whose outcome somebody looks at later, on whatever thread."""
        self.check()
        loop = self._start()
        return asyncio.run_coroutine_threadsafe(self._use(work), loop)

    def check(self) -> None:
        """Raise StoreUnavailableError if the database is known to be gone."""
        if self.problem:
            raise StoreUnavailableError(self.problem)

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections there are, and how many of them are in use."""
        pool = self._pool
        return (0, 0) if pool is None else (pool.get_size(), pool.get_size() - pool.get_idle_size())

    def close(self) -> None:
        """Let go of all connections; blocking."""
        with self._starting:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), loop).result(CLOSING * 2)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSING)

    def _soon(self, call: Callable[[], None], seconds: float) -> None:
        """Have something called on the thread of the link."""
        loop = self._start()
        if seconds:
            loop.call_soon_threadsafe(loop.call_later, seconds, call)
        else:
            loop.call_soon_threadsafe(call)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None or self._closed:
            with self._starting:
                if self._closed:
                    raise StoreUnavailableError("the link to it is closed")
                if self._loop is None:
                    self._loop = asyncio.new_event_loop()
                    self._thread = threading.Thread(target=_serve, args=(self._loop,), name="ot-store", daemon=True)
                    self._thread.start()
                loop = self._loop
        return loop

    # -- on the thread of the link

    async def _use(self, work: Work[Given]) -> Given:
        try:
            pool = self._pool or await self._open()
            async with pool.acquire(timeout=CONNECTING) as connection:
                try:
                    return await work(connection)
                except BaseException as error:
                    if isinstance(error, TypeError):  # of asyncio, from 3.12 on: written to after the connection's end
                        await asyncio.sleep(0)  # asyncpg hears of the end in the next turn of the loop
                        if connection.is_closed():
                            raise ConnectionResetError("the connection was cut") from error
                    await _end_transaction(connection)
                    raise
        except LOST as error:
            if isinstance(error, ValueError) and self._pool is not None:
                raise  # arguments of a statement that make no sense
            self._try_soon()
            raise StoreUnavailableError(self._word(error)) from error

    async def _open(self) -> asyncpg.Pool[asyncpg.Record]:
        async def look_after(connection: asyncpg.Connection[asyncpg.Record] | Connection) -> None:
            connection.add_termination_listener(lambda _: self._try_soon())

        async with self._opening:
            if self._pool is not None:
                return self._pool
            limit = str(int(self._statement * 1000))
            timeouts = {"statement_timeout": limit, "idle_in_transaction_session_timeout": limit}
            pool = await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=self._most,
                max_inactive_connection_lifetime=0,  # as long as this process lives, the database knows of it
                timeout=CONNECTING,
                connection_class=_LinkConnection,
                command_timeout=self._statement + 1,
                init=look_after,
                reset=_nothing,  # `_use` sees to what work leaves behind, and the usual reset is a round trip each time
                server_settings={"application_name": self.name, "search_path": SCHEMA, **timeouts},
            )
            try:
                async with pool.acquire(timeout=CONNECTING) as connection:
                    await migrate(connection)
                    self._key = await connection.fetchval("SELECT key FROM keys")
                    await self._renew(connection)
            except BaseException:
                pool.terminate()
                raise
            self._pool = pool
            self._renewing = asyncio.get_running_loop().create_task(self._keep_lease())
            return pool

    async def _renew(self, connection: asyncpg.Connection[asyncpg.Record] | Connection) -> None:
        await connection.execute(_RENEW, self.name, LEASE)

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(RENEWING)
            if not self.problem:
                with suppress(StoreUnavailableError, asyncpg.PostgresError):
                    await self._use(self._renew)

    def _try_soon(self) -> None:
        if not self._closed and (self._trying is None or self._trying.done()):
            self._trying = asyncio.get_running_loop().create_task(self._try())

    async def _try(self) -> None:
        """Find out whether the database is there, again and again until it is."""
        while True:
            try:
                await self._use(self._renew)
            except StoreUnavailableError as error:
                if not self.problem:
                    write_log(logging.WARNING, "store.gone", place=self.place, error=error.reason)
                self.problem = error.reason
                if self._pool is not None:
                    await self._pool.expire_connections()
                await asyncio.sleep(TRYING_AGAIN)
            else:
                if self.problem:
                    write_log(logging.WARNING, "store.back", place=self.place)
                self.problem = ""
                return

    async def _close(self) -> None:
        for task in (self._trying, self._renewing):
            if task is not None:
                task.cancel()
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._finish(self._pool), CLOSING)
            except (TimeoutError, *LOST):
                self._pool.terminate()

    async def _finish(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        await self.commits.finish()
        async with pool.acquire(timeout=CONNECTING) as connection:
            await connection.execute(_LET_GO, self.name)
        await pool.close()

    def _word(self, error: BaseException) -> str:
        if isinstance(error, StoreUnavailableError):
            return error.reason
        if isinstance(error, TimeoutError):
            return f"{self.place} does not answer in time"
        if isinstance(error, asyncpg.InternalClientError) and _FAREWELL in str(error):
            return f"{self.place} ended the connection"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"{self.place} cannot be used: {reason}"


class _LinkConnection(_AnyConnection):
    """Executes a statement for no rows by doing nothing: asyncpg prepares it, and leaves a transaction open by that."""

    async def executemany(
        self, command: str, args: Iterable[Sequence[object]], *, timeout: float | None = None
    ) -> None:
        if rows := list(args):
            await super().executemany(command, rows, timeout=timeout)


async def _nothing(_: object) -> None:
    pass


async def _end_transaction(connection: Connection) -> None:
    """End a transaction of which asyncpg knows nothing, so that who is given the connection next is not inside it.

    It prepares a statement with one message, which begins a transaction, and executes it with the next. Between them a
    task can be cancelled, and values can turn out not to fit.
    """
    with suppress(asyncpg.InterfaceError):  # it is closed, and given back by that
        if connection.is_closed():
            return
        try:
            await connection.execute("SELECT 1", timeout=CONNECTING)
        except BaseException as error:
            connection.terminate()
            if not isinstance(error, Exception):  # a task that is cancelled
                raise


def place_of(url: str) -> str:
    """Return where a database is, without the password that its address may have."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2] or "this machine"
    return f"PostgreSQL at {host}{parts.path.rstrip('/')}"


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:  # each lets go of its connection
            loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSING))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
