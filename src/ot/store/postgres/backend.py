"""The store that replicas share, with every part in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from ot.store.credentials import LoginSeal
from ot.store.kept_names import ANSWERS_FOLDER, KEPT_FOLDER
from ot.store.parts import PersonalStore, Retention, Store
from ot.store.postgres.api_keys import PostgresApiKeys
from ot.store.postgres.audit import PostgresAuditRows, copy_of_everybody
from ot.store.postgres.credentials import PostgresCredentials
from ot.store.postgres.ended_sessions import PostgresEndedSessions
from ot.store.postgres.journal import PostgresJournal
from ot.store.postgres.kept_names import PostgresKeptNames
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.pending_logins import PostgresPendingLogins
from ot.store.postgres.quotas import PostgresQuotas, open_postgres_quotas
from ot.store.postgres.results import PostgresResults
from ot.store.postgres.shelf import PostgresShelf
from ot.store.postgres.statistics import PostgresStatRows, sum_everybody
from ot.store.results import RESULTS_FOLDER
from ot.store.sealing import Sealer
from ot.store.stat_rows import TeamSums

COPIES_FOLDER = "shelf"
"""The folder in which a machine has copies of documents."""

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
