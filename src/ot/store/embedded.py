"""The store of one machine: files and SQLite databases below its state folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from ot.store.api_keys import EmbeddedApiKeys
from ot.store.audit_rows import AUDIT_FOLDER, EmbeddedAudit
from ot.store.credentials import FileCredentials, LoginSeal
from ot.store.embedded_journal import JOURNAL_FOLDER, EmbeddedJournal
from ot.store.ended_sessions import FileEndedSessions
from ot.store.kept_names import ANSWERS_FOLDER, EmbeddedKeptNames
from ot.store.parts import PersonalStore, Retention, Store
from ot.store.pending_logins import MemoryPendingLogins
from ot.store.quotas import EmbeddedQuotas
from ot.store.results import RESULTS_FOLDER, EmbeddedResults
from ot.store.sealing import Sealer
from ot.store.shelf import FolderShelf
from ot.store.stat_rows import STATS_FILE, StatRows, TeamSums

Picked = TypeVar("Picked")


class EmbeddedBackend:
    """Everything lies in files; nothing is made or read before it is used."""

    password = ""

    def connected(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: files are there."""
        return nullcontext()

    def build_store(self, state: Path, *, principal: str, journal: Retention) -> Store:
        return Store(
            journal=EmbeddedJournal(state / JOURNAL_FOLDER, keep_for=journal.keep_for, max_size=journal.max_size),
            results=EmbeddedResults(state / RESULTS_FOLDER),
            open_statistics=partial(_open_statistics, state / STATS_FILE),
            audit=EmbeddedAudit(state / AUDIT_FOLDER),
            kept_values=EmbeddedKeptNames(state),
            kept_answers=EmbeddedKeptNames(state, folder=ANSWERS_FOLDER),
        )

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        seal = LoginSeal(principal, None if alone else sealer)
        return PersonalStore(FolderShelf(state), FileCredentials(state / "servers" / "tokens", seal))

    def build_api_keys(self, state: Path) -> EmbeddedApiKeys:
        return EmbeddedApiKeys(state)

    def build_ended_sessions(self, state: Path) -> FileEndedSessions:
        return FileEndedSessions(state)

    def build_pending_logins(self) -> MemoryPendingLogins:
        return MemoryPendingLogins()

    @asynccontextmanager
    async def open_quotas(self, state: Path) -> AsyncIterator[EmbeddedQuotas]:
        yield EmbeddedQuotas(state)

    @contextmanager
    def copy_audits(self, here: Iterable[Path], *, since: float, until: float, person: str) -> Iterator[list[Path]]:
        """Give the folders of this machine, with all that is in them."""
        yield list(here)

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        from ot.store.embedded_statistics import sum_files  # noqa: PLC0415 - the library is loaded by those who look

        return sum_files([(person, file) for person, file in here if file.exists()], since)

    def pick(self, in_files: Callable[[], Picked], in_database: object) -> Picked:
        return in_files()

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _open_statistics(file: Path) -> StatRows:
    from ot.store.embedded_statistics import EmbeddedStatRows  # noqa: PLC0415 - 10 ms that no start waits for

    return EmbeddedStatRows(file)
