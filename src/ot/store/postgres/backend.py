"""The store that replicas share, with every part in PostgreSQL; and a look at its database that changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import asyncpg

from ot.store.changes import FrameSeal
from ot.store.credentials import LoginSeal
from ot.store.opening import Backend, Picked
from ot.store.owner import StoreUnavailableError
from ot.store.parts import AuditRows, PersonalStore, Retention, Store, TeamSums
from ot.store.postgres import audit, logins, quotas, results, statistics
from ot.store.postgres.changes import PostgresChanges
from ot.store.postgres.credentials import PostgresCredentials
from ot.store.postgres.journal import PostgresJournal
from ot.store.postgres.link import CONNECTING, LOST, PostgresLink, place_of
from ot.store.postgres.migrations import SCHEMA, find_migrations
from ot.store.postgres.shelf import PostgresShelf
from ot.store.results import ANSWERS_FOLDER, KEPT_FOLDER, RESULTS_FOLDER
from ot.store.sealing import Sealer

COPIES_FOLDER = "shelf"  # the folder in which a machine has copies of documents


class PostgresBackend(Backend):
    """Everything goes through the one link of this process."""

    def __init__(self, link: PostgresLink) -> None:
        self.link = link
        self.password = link.password

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        self.link.connect()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.close)

    def build_store(
        self,
        state: Path,
        *,
        principal: str,
        journal: Retention,
        sealer: Callable[[], Sealer] | None = None,
        alone: bool = False,
    ) -> Store:
        link = self.link
        return Store(
            journal=PostgresJournal(link, keep_for=journal.keep_for, max_size=journal.max_size),
            results=results.PostgresResults(link, principal, state / RESULTS_FOLDER),
            open_statistics=partial(statistics.PostgresStatRows, link, principal),
            audit=audit.PostgresAuditRows(link, principal),
            kept_values=results.PostgresKeptNames(link, kind=KEPT_FOLDER),
            kept_answers=results.PostgresKeptNames(link, kind=ANSWERS_FOLDER),
            open_changes=partial(PostgresChanges, link, kept=journal, seal=FrameSeal(sealer)),
        )

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        credentials = PostgresCredentials(self.link, principal, LoginSeal(principal, sealer))
        return PersonalStore(PostgresShelf(self.link, principal, state / COPIES_FOLDER), credentials)

    def build_api_keys(self, state: Path) -> logins.PostgresApiKeys:
        return logins.PostgresApiKeys(self.link)

    def build_ended_sessions(self, state: Path) -> logins.PostgresEndedSessions:
        return logins.PostgresEndedSessions(self.link)

    def build_pending_logins(self) -> logins.PostgresPendingLogins:
        return logins.PostgresPendingLogins(self.link)

    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[quotas.PostgresQuotas]:
        return quotas.open_postgres_quotas(self.link)

    def audits_of_everybody(self, here: Iterable[Path], *, person: str) -> Sequence[AuditRows]:
        return [audit.rows_of_everybody(self.link, person)]

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        return statistics.sum_everybody(self.link, since)

    def pick(self, in_files: Callable[[], Picked], in_database: Callable[[PostgresLink], Picked]) -> Picked:
        return in_database(self.link)

    def close(self) -> None:
        self.link.close()


class SeenDatabase(NamedTuple):
    place: str
    version: str
    missing: tuple[int, ...]  # migrations that the next start of a server applies
    newer: tuple[int, ...]  # migrations of a newer OneTool that this one cannot go on with
    may_create: bool


async def look_at_database(address: str) -> SeenDatabase:
    """Look at a database; raises StoreUnavailableError where it cannot be reached."""
    table, known = f"{SCHEMA}.migrations", find_migrations().keys()
    try:
        connection = await asyncpg.connect(address, timeout=CONNECTING)
        try:
            applied: dict[int, bool] = {}
            if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", table):
                rows = await connection.fetch(f"SELECT * FROM {table}")
                applied = {row["number"]: bool(row.get("additive")) for row in rows}
            version = str(await connection.fetchval("SHOW server_version"))
            may_create = await connection.fetchval("SELECT has_database_privilege(current_database(), 'CREATE')")
        finally:
            await connection.close(timeout=CONNECTING)
    except (*LOST, ValueError) as error:
        raise StoreUnavailableError(f"{place_of(address)}: {str(error) or type(error).__name__}") from error
    missing = tuple(sorted(known - applied.keys()))
    newer = tuple(sorted(number for number, additive in applied.items() if number not in known and not additive))
    return SeenDatabase(place_of(address), version, missing, newer, bool(may_create))
