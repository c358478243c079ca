"""The store of a process: files of this machine, or a PostgreSQL that replicas share, chosen here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import ot.store
from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot.errors import ConfigError
from ot.store import logins
from ot.store.credentials import FileCredentials, LoginSeal
from ot.store.embedded_journal import JOURNAL_FOLDER, EmbeddedJournal
from ot.store.parts import AUDIT_FOLDER, STATS_FILE, AuditRows, ChangeStore, PersonalStore, Retention, Store, TeamSums
from ot.store.quotas import EmbeddedQuotas, Quotas
from ot.store.results import ANSWERS_FOLDER, RESULTS_FOLDER, EmbeddedKeptNames, ResultFiles
from ot.store.sealing import Sealer
from ot.store.shelf import Shelf

__all__ = ["POSTGRES", "Backend", "PersonalStore", "Retention", "Store", "build_backend", "open_backend"]

POSTGRES = ("postgresql://", "postgres://")  # the beginnings of an address of PostgreSQL
CHANGES_FOLDER = "undo"
Picked = TypeVar("Picked")


class Backend:
    """Builds every part of the store: here in files, of which none is made or read before it is used.

    `state` is the state folder of whoever the part belongs to, on this machine.
    """

    password = ""  # that nobody may read

    def connected(self) -> AbstractAsyncContextManager[None]:
        """Begin to connect, and close it in the end."""
        return nullcontext()

    def build_store(
        self,
        state: Path,
        *,
        principal: str,
        journal: Retention,
        sealer: Callable[[], Sealer] | None = None,
        alone: bool = False,
    ) -> Store:
        """Build what an engine has in the store; `sealer` gives the keys that seal what calls have changed.

        Files of a person who is `alone` on the machine need no seal.
        """

        @cache
        def open_changes() -> ChangeStore:
            seal = ot.store.FrameSeal(None if alone else sealer)
            return ot.store.EmbeddedChanges(state / CHANGES_FOLDER, kept=journal, seal=seal)

        return Store(
            journal=EmbeddedJournal(
                state / JOURNAL_FOLDER,
                keep_for=journal.keep_for,
                max_size=journal.max_size,
                forget=lambda runs: open_changes().forget(runs),
            ),
            results=ResultFiles(state / RESULTS_FOLDER),
            open_statistics=lambda: ot.store.EmbeddedStatRows(state / STATS_FILE),
            audit=AuditRows(state / AUDIT_FOLDER),
            kept_values=EmbeddedKeptNames(state),
            kept_answers=EmbeddedKeptNames(state, folder=ANSWERS_FOLDER),
            open_changes=open_changes,
        )

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        """Build what one person has in the store; `sealer` gives the keys that seal their logins.

        Logins in files of a person who is `alone` on the machine need no seal.
        """
        seal = LoginSeal(principal, None if alone else sealer)
        return PersonalStore(Shelf(state), FileCredentials(state / "servers" / "tokens", seal))

    def build_api_keys(self, state: Path) -> logins.ApiKeys:
        return logins.EmbeddedApiKeys(state)

    def build_ended_sessions(self, state: Path) -> logins.EndedSessions:
        return logins.FileEndedSessions(state)

    def build_pending_logins(self) -> logins.PendingLogins:
        return logins.MemoryPendingLogins()

    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[Quotas]:
        return nullcontext(EmbeddedQuotas(state))

    def audits_of_everybody(self, here: Iterable[Path], *, person: str) -> Sequence[AuditRows]:
        """Return everybody's audit logs, to be read: at least those of people with `person` in their principal.

        `here` are the folders of this machine.
        """
        return [AuditRows(folder) for folder in here]

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        """Add up usage since a moment; `here` are this machine's people. Blocking; raises CallError or OSError."""
        return ot.store.sum_files([(person, file) for person, file in here if file.exists()], since)

    def pick(self, in_files: Callable[[], Picked], in_database: Callable[[ot.store.PostgresLink], Picked]) -> Picked:
        """Let a part that lies above the store, such as a pack, choose its own implementation."""
        return in_files()

    def close(self) -> None:
        """Let go of the database, if there is one; blocking."""


@asynccontextmanager
async def open_backend(address: str) -> AsyncIterator[Backend]:
    """Open the backend of this process, which connects at once. Raises ConfigError."""
    backend = build_backend(address)
    async with backend.connected():
        yield backend


def build_backend(address: str) -> Backend:
    """Build the backend that an address names; raises ConfigError where the library for it is not installed."""
    if not address.startswith(POSTGRES):
        return Backend()
    if find_spec("asyncpg") is None:
        missing = "PostgreSQL needs a library that is not installed"
        raise ConfigError(missing, key="store", fix=install_command(with_extra("team")))
    return ot.store.PostgresBackend(ot.store.PostgresLink(address))
