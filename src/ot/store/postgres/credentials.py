"""The logins of one person in PostgreSQL, sealed; a replica that renews one holds its row meanwhile.

All logins and secrets are sealed again row by row, so that nobody waits for all of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
import asyncpg

from mcp_core.json_types import JsonObject
from ot.logs import write_log
from ot.store.credentials import HeldLogin, LoginSeal
from ot.store.owner import StoreUnavailableError
from ot.store.postgres.changes import reseal_frames
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.sealing import LOGIN, PATIENCE, SECRETS, SECRETS_DOCUMENT, Resealed, Sealer, digest_of_person, place_of

_HELD = 60.0  # seconds for which a row may be held while its login is renewed
_PERSISTENT = 30.0  # seconds in which a renewed login is written again and again, if the database was lost meanwhile
_AGAIN = 0.5  # seconds

_KEEP = (
    "INSERT INTO credentials (principal, place, sealed) VALUES ($1, $2, $3)"
    " ON CONFLICT (principal, place) DO UPDATE SET sealed = excluded.sealed, changed = now()"
)


class PostgresCredentials:
    """Rows of one person; raises StoreUnavailableError."""

    def __init__(self, link: PostgresLink, principal: str, seal: LoginSeal) -> None:
        self._link = link
        self._principal = principal
        self._seal = seal

    async def read(self, place: str) -> JsonObject | None:
        statement = "SELECT sealed FROM credentials WHERE principal = $1 AND place = $2"
        rows = await self._link.fetch(statement, self._principal, place)
        return self._seal.read(place, rows[0]["sealed"] if rows else None)

    async def write(self, place: str, content: JsonObject) -> None:
        await self._link.fetch(_KEEP, self._principal, place, self._seal.text(place, content))

    async def forget(self, place: str) -> None:
        statement = "DELETE FROM credentials WHERE principal = $1 AND place = $2"
        await self._link.fetch(statement, self._principal, place)

    @asynccontextmanager
    async def alone(self, place: str) -> AsyncIterator[HeldLogin]:
        held = _HeldRow(self._principal, place, self._seal)
        holding = asyncio.ensure_future(self._link.hold(held.hold))
        try:
            await asyncio.wait([holding, taken := asyncio.wrap_future(held.taken)], return_when="FIRST_COMPLETED")
            if holding.done():
                taken.cancel()
                holding.result()  # raises what kept us from it
            yield HeldLogin(held.read, held.write)
        finally:
            if held.taken.done():
                # What was renewed is kept, whatever happens to whoever wanted it: the token before it is spent.
                with anyio.CancelScope(shield=True):
                    held.released.set_result(None)  # once what was written is kept
                    await self._let_go(held, holding)
            else:
                holding.cancel()

    async def _let_go(self, held: _HeldRow, holding: asyncio.Future[None]) -> None:
        """Wait until what is to be kept is written, or the database is back; raises TimeoutError if that takes long."""
        try:
            await holding
        except OSError:
            if held.fresh is None:
                return
            write_log(logging.ERROR, "proxy.tokens", not_written=held.place, reason="the store is gone")
            with anyio.fail_after(_PERSISTENT):
                while True:
                    with suppress(StoreUnavailableError):
                        await self.write(held.place, held.fresh)
                        return
                    await anyio.sleep(_AGAIN)


class _HeldRow:
    """A row that is held on the thread of the link, for whoever renews the login on another event loop."""

    def __init__(self, principal: str, place: str, seal: LoginSeal) -> None:
        self.place = place
        self.taken: Future[None] = Future()
        self.fresh: JsonObject | None = None  # what is to be kept
        self._principal = principal
        self._seal = seal
        self._found: str | None = None
        self.released: Future[None] = Future()

    async def read(self) -> JsonObject | None:
        return self._seal.read(self.place, self._found)

    async def write(self, content: JsonObject) -> None:
        self.fresh = content

    async def hold(self, connection: Connection) -> None:
        """Take the row, tell so, and keep it until it is released; the one before us may take its time."""
        row = (self._principal, self.place)
        async with connection.transaction():
            await connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = {int(_HELD * 1000)}")
            await connection.execute(f"SET LOCAL statement_timeout = {int(PATIENCE * 1000)}")
            try:
                self._found = await connection.fetchval(
                    "INSERT INTO credentials (principal, place, sealed) VALUES ($1, $2, '')"
                    " ON CONFLICT (principal, place) DO UPDATE SET principal = excluded.principal RETURNING sealed",
                    *row,
                    timeout=PATIENCE + 1,
                )
            except (asyncpg.QueryCanceledError, TimeoutError) as error:
                raise TimeoutError("another replica is renewing this login and does not finish") from error
            if not self.taken.set_running_or_notify_cancel():
                return  # whoever wanted it has gone
            self.taken.set_result(None)
            await asyncio.wrap_future(self.released)
            if self.fresh is not None:
                await connection.execute(_KEEP, *row, self._seal.text(self.place, self.fresh))


def reseal_rows(link: PostgresLink, sealer: Sealer) -> Resealed:
    """Seal the logins and secrets of all people again; blocking. Raises StoreUnavailableError."""
    found = Resealed()
    for principal, place in link.fetch_now("SELECT principal, place FROM credentials WHERE sealed <> ''"):
        link.run_now(partial(_login, sealer, found, principal, place))
    for (principal,) in link.fetch_now("SELECT principal FROM shelf WHERE name = $1", SECRETS_DOCUMENT):
        link.run_now(partial(_secrets, sealer, found, principal))
    reseal_frames(link, sealer, found)
    return found


async def _login(sealer: Sealer, found: Resealed, principal: str, place: str, connection: Connection) -> None:
    one, fresh = "principal = $1 AND place = $2", list[str]()
    async with connection.transaction():
        text = await connection.fetchval(f"SELECT sealed FROM credentials WHERE {one} FOR UPDATE", principal, place)
        if text:
            found.seal(sealer, text, place_of(LOGIN, digest_of_person(principal), place), fresh.append)
        for sealed in fresh:
            await connection.execute(f"UPDATE credentials SET sealed = $3 WHERE {one}", principal, place, sealed)


async def _secrets(sealer: Sealer, found: Resealed, principal: str, connection: Connection) -> None:
    one, fresh = "principal = $1 AND name = $2", list[str]()
    row = principal, SECRETS_DOCUMENT
    async with connection.transaction():
        content = await connection.fetchval(f"SELECT content FROM shelf WHERE {one} FOR UPDATE", *row)
        if content is not None:
            found.seal(sealer, content.decode(), place_of(SECRETS, digest_of_person(principal)), fresh.append)
        for sealed in fresh:
            data = sealed.encode()
            digest = hashlib.sha256(data).hexdigest()[:32]
            await connection.execute(f"UPDATE shelf SET content = $3, digest = $4 WHERE {one}", *row, data, digest)
