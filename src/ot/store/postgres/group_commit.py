"""Rows that are added a few at a time and committed together: one transaction for all who wait, then the next one.

Adding a row waits for nothing. Code that must know that it was written awaits `settle`, which also has it written at
once; otherwise it is written in a moment, with what has come by then.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from functools import partial
from threading import Lock
from typing import TypeAlias, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from ot.store.owner import StoreUnavailableError

SOON = 0.02  # seconds
LATER = 1.0  # seconds until rows are tried again
MOST_BYTES = 64 * 1024**2  # of rows that wait; a database that is slower than this is no place for more

Given = TypeVar("Given")
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Work: TypeAlias = Callable[[Connection], Awaitable[Given]]
"""Something done on the thread of the link: one statement, or several in a transaction; it raises no OSError itself."""

Row: TypeAlias = tuple[object, ...]
Statement: TypeAlias = "str | Callable[[Connection, list[Row]], Awaitable[None]]"
"""Writes rows: a statement that is executed for each, or a function that writes all of them with one."""


class _Batch:
    """Rows that are committed together, and those who wait for that."""

    __slots__ = ("again", "again_size", "rows", "size", "waiters")

    def __init__(self) -> None:
        self.rows: list[tuple[Statement, Row]] = []
        self.again: list[tuple[Statement, Row]] = []  # those of them that are tried again
        self.again_size = self.size = 0  # bytes
        self.waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []


class GroupCommit:
    """Writes rows on the thread of a link, in the order in which they were added on whatever threads."""

    def __init__(
        self, soon: Callable[[Callable[[], None], float], None], use: Callable[[Work[None]], Awaitable[None]]
    ) -> None:
        """`soon` has something called on the link's thread in some seconds; `use` does work there."""
        self._soon = soon
        self._use = use
        self._lock = Lock()
        self._next = _Batch()
        self._writing: _Batch | None = None
        self._task: asyncio.Task[None] | None = None

    def add(self, statement: Statement, *row: object, size: int = 0, again: bool = False) -> None:
        """Have a row written with a statement; raises OSError where too much waits already.

        With `again`, for a statement that may be repeated, it is written later where the database is gone.
        """
        with self._lock:
            batch = self._next
            if batch.size + size > MOST_BYTES:
                raise StoreUnavailableError("it is too slow for what is written to it")
            batch.rows.append((statement, row))
            if again:
                batch.again.append((statement, row))
                batch.again_size += size
            batch.size += size
            first = len(batch.rows) == 1
        if first:
            try:  # a timer of the caller's own event loop, if it has one, is cheaper than waking a thread
                asyncio.get_running_loop().call_later(SOON, self._begin_if_any)
            except RuntimeError:
                self._soon(self._begin, SOON)

    def _begin_if_any(self) -> None:
        """Write now, unless somebody who could not wait has had it written."""
        if self._next.rows:
            with suppress(StoreUnavailableError):  # closed meanwhile, which has written what there was
                self._soon(self._begin, 0)

    async def settle(self) -> None:
        """Wait until everything that was added is committed; raises OSError where it is not."""
        loop = asyncio.get_running_loop()
        waiters: list[asyncio.Future[None]] = []
        with self._lock:
            for batch in (self._writing, self._next):
                if batch is not None and batch.rows:
                    waiters.append(loop.create_future())
                    batch.waiters.append((loop, waiters[-1]))
            pending = bool(self._next.rows)
        if pending:
            self._soon(self._begin, 0)
        if len(waiters) == 1:
            await waiters[0]
            return
        for outcome in await asyncio.gather(*waiters, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def finish(self) -> None:
        """Write what is left, on the link's thread."""
        self._begin()
        if self._task is not None:
            await self._task

    # -- on the thread of the link

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        while True:
            with self._lock:
                batch, self._next = self._next, _Batch()
                self._writing = batch
            error: OSError | None = StoreUnavailableError("the link to it is closed")
            gone = False
            try:
                if batch.rows:
                    await self._use(partial(_write, rows=batch.rows))
                error = None
            except OSError as caught:
                error, gone = caught, True
            except asyncpg.PostgresError as caught:
                error = StoreUnavailableError(str(caught))
            finally:
                with self._lock:
                    self._writing = None
                    more = bool(self._next.rows)
                    if gone and batch.again:  # put back
                        self._next.rows[:0] = batch.again
                        self._next.again[:0] = batch.again
                        self._next.size += batch.again_size
                        self._next.again_size += batch.again_size
                        asyncio.get_running_loop().call_later(LATER, self._begin)
                for loop, waiter in batch.waiters:
                    with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                        loop.call_soon_threadsafe(_settle, waiter, error)
            if not more:
                return


async def _write(connection: Connection, rows: list[tuple[Statement, Row]]) -> None:
    by_statement: dict[Statement, list[Row]] = defaultdict(list)
    for statement, row in rows:
        by_statement[statement].append(row)
    alone = len(by_statement) == 1  # one statement is a transaction of its own
    async with nullcontext() if alone else connection.transaction():
        for statement, some in by_statement.items():
            if isinstance(statement, str):
                await connection.executemany(statement, some)
            else:
                await statement(connection, some)


def _settle(waiter: asyncio.Future[None], error: OSError | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)
