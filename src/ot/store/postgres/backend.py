"""The store that replicas share, with every part in PostgreSQL; and a look at its database that changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import asyncpg

from mcp_core.quick_dataclass import dataclass
from ot.store.credentials import LoginSeal
from ot.store.owner import StoreUnavailableError
from ot.store.parts import PersonalStore, Retention, Store, TeamSums
from ot.store.postgres.audit import PostgresAuditRows, copy_of_everybody
from ot.store.postgres.credentials import PostgresCredentials
from ot.store.postgres.journal import PostgresJournal
from ot.store.postgres.link import CONNECTING, LOST, PostgresLink, place_of
from ot.store.postgres.logins import PostgresApiKeys, PostgresEndedSessions, PostgresPendingLogins
from ot.store.postgres.migrations import SCHEMA, find_migrations
from ot.store.postgres.quotas import PostgresQuotas, open_postgres_quotas
from ot.store.postgres.results import PostgresKeptNames, PostgresResults
from ot.store.postgres.shelf import PostgresShelf
from ot.store.postgres.statistics import PostgresStatRows, sum_everybody
from ot.store.results import ANSWERS_FOLDER, KEPT_FOLDER, RESULTS_FOLDER
from ot.store.sealing import Sealer

COPIES_FOLDER = "shelf"  # the folder in which a machine has copies of documents
Picked = TypeVar("Picked")


class PostgresBackend:
    """Everything goes through the one link of this process."""

    def __init__(self, link: PostgresLink) -> None:
        self.link = link

    @property
    def password(self) -> str:
        return self.link.password

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        self.link.connect()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.close)

    def build_store(self, state: Path, *, principal: str, journal: Retention) -> Store:
        link = self.link
        return Store(
            journal=PostgresJournal(link, keep_for=journal.keep_for, max_size=journal.max_size),
            results=PostgresResults(link, principal, state / RESULTS_FOLDER),
            open_statistics=partial(PostgresStatRows, link, principal),
            audit=PostgresAuditRows(link, principal),
            kept_values=PostgresKeptNames(link, kind=KEPT_FOLDER),
            kept_answers=PostgresKeptNames(link, kind=ANSWERS_FOLDER),
        )

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        credentials = PostgresCredentials(self.link, principal, LoginSeal(principal, sealer))
        return PersonalStore(PostgresShelf(self.link, principal, state / COPIES_FOLDER), credentials)

    def build_api_keys(self, state: Path) -> PostgresApiKeys:
        return PostgresApiKeys(self.link)

    def build_ended_sessions(self, state: Path) -> PostgresEndedSessions:
        return PostgresEndedSessions(self.link)

    def build_pending_logins(self) -> PostgresPendingLogins:
        return PostgresPendingLogins(self.link)

    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[PostgresQuotas]:
        return open_postgres_quotas(self.link)

    def copy_audits(
        self, here: Iterable[Path], *, since: float, until: float, person: str
    ) -> AbstractContextManager[list[Path]]:
        return copy_of_everybody(self.link, since=since, until=until, person=person)

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        return sum_everybody(self.link, since)

    def pick(self, in_files: object, in_database: Callable[[PostgresLink], Picked]) -> Picked:
        return in_database(self.link)

    def close(self) -> None:
        self.link.close()


@dataclass(frozen=True, slots=True)
class SeenDatabase:
    place: str
    version: str
    missing: tuple[int, ...]  # migrations that the next start of a server applies
    newer: tuple[int, ...]  # migrations of a newer OneTool
    may_create: bool


async def look_at_database(address: str) -> SeenDatabase:
    """Look at a database; raises StoreUnavailableError where it cannot be reached."""
    try:
        connection = await asyncpg.connect(address, timeout=CONNECTING)
        try:
            return await _look(connection, place_of(address))
        finally:
            await connection.close(timeout=CONNECTING)
    except (*LOST, ValueError) as error:
        raise StoreUnavailableError(f"{place_of(address)}: {str(error) or type(error).__name__}") from error


async def _look(connection: asyncpg.Connection[asyncpg.Record], place: str) -> SeenDatabase:
    table = f"{SCHEMA}.migrations"
    applied: set[int] = set()
    if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", table):
        applied = {row["number"] for row in await connection.fetch(f"SELECT number FROM {table}")}
    known = find_migrations().keys()
    return SeenDatabase(
        place,
        str(await connection.fetchval("SHOW server_version")),
        tuple(sorted(known - applied)),
        tuple(sorted(applied - known)),
        bool(await connection.fetchval("SELECT has_database_privilege(current_database(), 'CREATE')")),
    )
