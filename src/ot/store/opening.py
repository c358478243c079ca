"""The store of a process: files of this machine, or a PostgreSQL that replicas share, chosen here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import ot.store
from mcp_core.distribution import install_command, with_extra
from ot.errors import ConfigError
from ot.store.credentials import FileCredentials, LoginSeal
from ot.store.embedded_journal import JOURNAL_FOLDER, EmbeddedJournal
from ot.store.logins import (
    ApiKeys,
    EmbeddedApiKeys,
    EndedSessions,
    FileEndedSessions,
    MemoryPendingLogins,
    PendingLogins,
)
from ot.store.parts import AUDIT_FOLDER, STATS_FILE, EmbeddedAudit, PersonalStore, Retention, Store, TeamSums
from ot.store.quotas import EmbeddedQuotas, Quotas
from ot.store.results import ANSWERS_FOLDER, RESULTS_FOLDER, EmbeddedKeptNames, EmbeddedResults
from ot.store.sealing import Sealer
from ot.store.shelf import FolderShelf

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

__all__ = ["POSTGRES", "Backend", "PersonalStore", "Retention", "Store", "build_backend", "open_backend"]

POSTGRES = ("postgresql://", "postgres://")  # the beginnings of an address of PostgreSQL
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
            open_statistics=lambda: ot.store.EmbeddedStatRows(state / STATS_FILE),
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

    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[EmbeddedQuotas]:
        return nullcontext(EmbeddedQuotas(state))

    def copy_audits(
        self, here: Iterable[Path], *, since: float, until: float, person: str
    ) -> AbstractContextManager[list[Path]]:
        """Give the folders of this machine, with all that is in them."""
        return nullcontext(list(here))

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        return ot.store.sum_files([(person, file) for person, file in here if file.exists()], since)

    def pick(self, in_files: Callable[[], Picked], in_database: object) -> Picked:
        return in_files()

    def close(self) -> None:
        """Do nothing: nothing is open."""


class Backend(Protocol):
    """Builds every part of the store. `state` is the state folder of whoever the part belongs to, on this machine."""

    @property
    def password(self) -> str: ...  # that nobody may read; empty where there is none
    def connected(self) -> AbstractAsyncContextManager[None]: ...  # begins to connect, and closes it in the end
    def build_store(self, state: Path, *, principal: str, journal: Retention) -> Store: ...

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        """Build what one person has in the store; `sealer` gives the keys that seal their logins.

        Logins in files of a person who is `alone` on the machine need no seal.
        """

    def build_api_keys(self, state: Path) -> ApiKeys: ...
    def build_ended_sessions(self, state: Path) -> EndedSessions: ...
    def build_pending_logins(self) -> PendingLogins: ...
    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[Quotas]: ...

    def copy_audits(
        self, here: Iterable[Path], *, since: float, until: float, person: str
    ) -> AbstractContextManager[list[Path]]:
        """Give folders with everybody's audit log, at least from this time and of this person; `here` are those of
        this machine. Blocking; raises OSError."""

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        """Add up what everybody has used since a moment; `here` are the people and databases of this machine.

        Blocking; raises CallError or OSError.
        """

    def pick(self, in_files: Callable[[], Picked], in_database: Callable[[PostgresLink], Picked]) -> Picked:
        """Let a part that lies above the store, such as a pack, choose its own implementation."""

    def close(self) -> None: ...  # blocking


@asynccontextmanager
async def open_backend(address: str) -> AsyncIterator[Backend]:
    """Open the backend of this process, which connects at once. Raises ConfigError."""
    backend = build_backend(address)
    async with backend.connected():
        yield backend


def build_backend(address: str) -> Backend:
    """Build the backend that an address names; raises ConfigError where the library for it is not installed."""
    if not address.startswith(POSTGRES):
        return EmbeddedBackend()
    if find_spec("asyncpg") is None:
        missing = "PostgreSQL needs a library that is not installed"
        raise ConfigError(missing, key="store", fix=install_command(with_extra("team")))
    return ot.store.PostgresBackend(ot.store.PostgresLink(address))
